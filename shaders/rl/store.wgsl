// What a control step returned, into the rollout or the replay; episodes that ended are counted.

struct Job {
  /// Words of a world's result, and where its numbers lie.
  stride: u32,
  reward: u32,
  terminated: u32,
  truncated: u32,
  reset: u32,
  status: u32,
  length: u32,
  total: u32,
  /// Floats of a row that is kept, and where reward and flags lie in it.
  row: u32,
  at: u32,
}
@group(0) @binding(1) var<uniform> J: Job;
@group(0) @binding(2) var<storage, read> result: array<f32>;
@group(0) @binding(3) var<storage, read_write> samples: array<f32>;
@group(0) @binding(4) var<storage, read_write> worlds: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  let base = (C.local + row) * J.stride;
  let terminated = result[base + J.terminated] > 0.0;
  let truncated = result[base + J.truncated] > 0.0;
  let skipped = result[base + J.reset] > 0.0;
  var flags = select(0u, TERMINATED, terminated) | select(0u, TRUNCATED, truncated);
  if (skipped) { flags = SKIPPED; }

  let world = C.first + row;
  let at = (world * C.steps + C.t) * J.row + J.at;
  samples[at] = result[base + J.reward];
  samples[at + 1u] = f32(flags);

  let w = world * WORLD;
  if ((C.flags & FIRST_STEP) != 0u) {
    worlds[w + 3u] = 0.0;
    worlds[w + 4u] = 0.0;
    worlds[w + 5u] = 0.0;
    worlds[w + 6u] = 0.0;
  }
  if (result[base + J.status] > 0.0) { worlds[w + 3u] += 1.0; }
  if ((flags & (TERMINATED | TRUNCATED)) != 0u) {
    worlds[w + 4u] += 1.0;
    worlds[w + 5u] += result[base + J.total];
    worlds[w + 6u] += result[base + J.length];
  }
}
