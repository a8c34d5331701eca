// What a control step returned, into the rollout or the replay; episodes that ended are counted.

@group(0) @binding(2) var<storage, read> result: array<f32>;
@group(0) @binding(3) var<storage, read_write> rows: array<f32>;
@group(0) @binding(4) var<storage, read_write> worlds: array<World>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let base = (U.local + row) * J.stride;
  let terminated = result[base + J.terminated] > 0.0;
  let truncated = result[base + J.truncated] > 0.0;
  let skipped = result[base + J.reset] > 0.0;
  var flags = select(0u, TERMINATED, terminated) | select(0u, TRUNCATED, truncated);
  if (skipped) { flags = SKIPPED; }

  let world = U.first + row;
  let at = (world * U.steps + U.t) * J.row;
  rows[at + J.row_reward] = result[base + J.reward];
  rows[at + J.row_flags] = f32(flags);

  if ((U.flags & FLAG_FIRST_STEP) != 0u) {
    worlds[world].bad_steps = 0.0;
    worlds[world].episodes = 0.0;
    worlds[world].returns = 0.0;
    worlds[world].lengths = 0.0;
  }
  if (result[base + J.status] > 0.0) { worlds[world].bad_steps += 1.0; }
  if ((flags & (TERMINATED | TRUNCATED)) != 0u) {
    worlds[world].episodes += 1.0;
    worlds[world].returns += result[base + J.total];
    worlds[world].lengths += result[base + J.length];
  }
}
