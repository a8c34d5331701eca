// Transcendental functions from arithmetic alone, the same on every adapter; most are twins of src/trace/math.ts.

const LN2_HIGH = 0.693359375;
const LN2_LOW = -2.12194440054690583e-4;

/// e^x, relative error 3e-7; 0 below -87.3125, at most e^88.375.
fn poly_exp(x: f32) -> f32 {
  let bounded = clamp(x, -87.3125, 88.375);
  let k = round(bounded * 1.4426950408889634);
  let r = (bounded - k * LN2_HIGH) - k * LN2_LOW;
  let p = ((((0.0013813880600070663 * r + 0.008369063453066927) * r + 0.04166842181829462) * r
    + 0.1666651776246866) * r + 0.4999999325369302);
  let e = r * r * p + r + 1.0;
  return select(e * bitcast<f32>(u32(i32(k + 127.0)) << 23u), 0.0, x < -87.3125);
}

/// e^x of four numbers; see poly_exp.
fn poly_exp4(x: vec4<f32>) -> vec4<f32> {
  let bounded = clamp(x, vec4<f32>(-87.3125), vec4<f32>(88.375));
  let k = round(bounded * 1.4426950408889634);
  let r = (bounded - k * LN2_HIGH) - k * LN2_LOW;
  let p = ((((0.0013813880600070663 * r + 0.008369063453066927) * r + 0.04166842181829462) * r
    + 0.1666651776246866) * r + 0.4999999325369302);
  let e = r * r * p + r + 1.0;
  let scale = bitcast<vec4<f32>>(vec4<u32>(vec4<i32>(k + 127.0)) << vec4<u32>(23u));
  return select(e * scale, vec4<f32>(0.0), x < vec4<f32>(-87.3125));
}

/// Natural logarithm, relative error 3e-7; of anything below 2^-126, -87.3.
fn poly_log(x: f32) -> f32 {
  let bits = bitcast<u32>(max(x, 1.1754943508222875e-38));
  let half = bitcast<f32>((bits & 0x007fffffu) | 0x3f000000u);
  let low = half < 0.70710678118654752;
  let m = select(half, half + half, low);
  let e = f32(bits >> 23u) - select(126.0, 127.0, low);
  let f = m - 1.0;
  let z = f * f;
  let p = ((((((((0.06915540268119895 * f - 0.1178986487037122) * f + 0.11872926030692549) * f
    - 0.12384335158857913) * f + 0.14218663796842532) * f - 0.16669251812159736) * f
    + 0.2000222632102874) * f - 0.24999986576508632) * f + 0.33333310445325215);
  return (((f * z * p + e * LN2_LOW) - 0.5 * z) + f) + e * LN2_HIGH;
}

/// (sine, cosine) of x radians, absolute error 1.5e-7 up to |x| = 1e4.
fn poly_sincos(x: f32) -> vec2<f32> {
  let k = round(x * 0.63661977236758134);
  let rest = ((x - k * 1.5703125) - k * 4.837512969970703e-4) - k * 7.549789948768648e-8;
  let r = clamp(rest, -0.8, 0.8);
  let z = r * r;
  let s = r + r * z * ((-0.00019514076890823835 * z + 0.008332154994306062) * z - 0.16666654589074273);
  let c = (1.0 - 0.5 * z) + z * z * ((2.443483709999758e-5 * z - 0.0013887337007296738) * z + 0.04166664626717952);
  let quadrant = u32(i32(k));
  let odd = (quadrant & 1u) != 0u;
  let sine = select(s, c, odd);
  let cosine = select(c, s, odd);
  return vec2<f32>(
    select(sine, -sine, (quadrant & 2u) != 0u),
    select(cosine, -cosine, ((quadrant + 1u) & 2u) != 0u),
  );
}

/// Hyperbolic tangent of four numbers, relative error 4e-7: a rational function (minimax up to 8, if it is 1).
fn poly_tanh4(x: vec4<f32>) -> vec4<f32> {
  let r = clamp(x, vec4<f32>(-8.0), vec4<f32>(8.0));
  let z = r * r;
  let p = ((((2.3508836934e-11 * z - 1.47043104897e-8) * z + 9.878690651128909e-6) * z + 0.002985865323699517) * z
    + 0.1297922657448714) * z + 0.9999999810919786;
  let q = ((0.00023720370063300036 * z + 0.024027938512846958) * z + 0.46312542619266617) * z + 1.0;
  return clamp(r * p / q, vec4<f32>(-1.0), vec4<f32>(1.0));
}

/// Whether a stored number is neither infinite nor NaN, by its exponent: compilers may assume there are none.
fn is_finite(x: f32) -> bool {
  return ((bitcast<u32>(x) >> 23u) & 255u) != 255u;
}

/// A result, or the argument if that is NaN: max and clamp may return the other operand. By bits, as above.
fn keep_nan4(x: vec4<f32>, result: vec4<f32>) -> vec4<f32> {
  return select(result, x, (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}
