// Observations of a replay by their running moments; their mean is 0 and their deviation 1 unless they are normalised.

@group(0) @binding(8) var<storage, read> norm: array<f32>;

/// A number of an observation, by its column.
fn normalised(value: f32, i: u32) -> f32 {
  return (value - norm[4u * NORM_MEAN * U.k4 + i]) * norm[4u * NORM_INVERSE_STD * U.k4 + i];
}
