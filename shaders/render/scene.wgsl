// Draws the parts of a scene: instances of shapes under a sun with shadows and a sky.

struct Frame {
  /// From the world to the picture, and to the map of shadows.
  view: mat4x4<f32>,
  light_view: mat4x4<f32>,
  eye: vec4<f32>,
  /// Towards the sun, unit; w: how far fog lets see (m).
  sun: vec4<f32>,
  sky: vec4<f32>,
}
/// A part: rows of its frame with the position behind them, half sizes and half length, colour; look.x: has a checker of
/// squares of look.y (m), look.z: without light and shadow.
struct Instance {
  rows: array<vec4<f32>, 3>,
  size: vec4<f32>,
  rgba: vec4<f32>,
  look: vec4<f32>,
}
@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> instances: array<Instance>;
@group(0) @binding(2) var shadows: texture_depth_2d;
@group(0) @binding(3) var shadow_sampler: sampler_comparison;

struct Vertex {
  @location(0) position: vec3<f32>,
  @location(1) normal: vec3<f32>,
  @location(2) end: f32,
  @builtin(instance_index) instance: u32,
}
struct Point {
  @builtin(position) clip: vec4<f32>,
  @location(0) position: vec3<f32>,
  @location(1) normal: vec3<f32>,
  @location(2) rgba: vec4<f32>,
  @location(3) look: vec3<f32>,
  @location(4) plane: vec2<f32>,
}

fn placed(v: Vertex) -> Point {
  let instance = instances[v.instance];
  let size = instance.size;
  let local = v.position * size.xyz + vec3<f32>(0.0, 0.0, v.end * size.w);
  let direction = normalize(v.normal / size.xyz);
  var point: Point;
  for (var i = 0u; i < 3u; i += 1u) {
    let row = instance.rows[i];
    point.position[i] = dot(row.xyz, local) + row.w;
    point.normal[i] = dot(row.xyz, direction);
  }
  point.rgba = instance.rgba;
  point.look = instance.look.xyz;
  point.plane = local.xy;
  return point;
}

@vertex
fn vertex(v: Vertex) -> Point {
  var point = placed(v);
  point.clip = frame.view * vec4<f32>(point.position, 1.0);
  return point;
}

@vertex
fn shadow(v: Vertex) -> @builtin(position) vec4<f32> {
  return frame.light_view * vec4<f32>(placed(v).position, 1.0);
}

/// How much of the sun reaches a point: the mean of nine looks into the map of shadows.
fn sunlit(position: vec3<f32>, normal: vec3<f32>) -> f32 {
  let at = frame.light_view * vec4<f32>(position + 0.002 * frame.sun.w * normal, 1.0);
  let uv = at.xy * vec2<f32>(0.5, -0.5) + 0.5;
  let pixel = 1.0 / f32(textureDimensions(shadows).x);
  var sum = 0.0;
  for (var y = -1; y <= 1; y += 1) {
    for (var x = -1; x <= 1; x += 1) {
      let offset = vec2<f32>(f32(x), f32(y)) * pixel;
      sum += textureSampleCompareLevel(shadows, shadow_sampler, uv + offset, at.z - 0.0015);
    }
  }
  return select(sum / 9.0, 1.0, any(uv < vec2<f32>(0.0)) || any(uv > vec2<f32>(1.0)));
}

/// A checker's mean over the pixel, so that far squares do not flicker.
fn checker(at: vec2<f32>, side: f32) -> f32 {
  let p = at / side;
  let w = max(fwidth(p), vec2<f32>(1e-4));
  let i = 2.0 * (abs(fract((p - 0.5 * w) * 0.5) - 0.5) - abs(fract((p + 0.5 * w) * 0.5) - 0.5)) / w;
  return 0.5 - 0.5 * i.x * i.y;
}

@fragment
fn fragment(point: Point, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
  let squares = checker(point.plane, max(point.look.y, 1e-3));
  let to_eye = normalize(frame.eye.xyz - point.position);
  var normal = normalize(point.normal);
  // meshes may be open: a face that is seen from behind is lit from there
  normal = select(normal, -normal, dot(normal, to_eye) < 0.0);
  let sun = max(dot(normal, frame.sun.xyz), 0.0) * sunlit(point.position, normal);
  let ambient = mix(vec3<f32>(0.26, 0.24, 0.22), vec3<f32>(0.46, 0.52, 0.60), normal.z * 0.5 + 0.5);
  let half_way = normalize(frame.sun.xyz + to_eye);
  let is_checker = point.look.x > 0.0;
  var albedo = pow(point.rgba.rgb, vec3<f32>(2.2));
  if (is_checker) { albedo = mix(vec3<f32>(0.47, 0.52, 0.50), vec3<f32>(0.66, 0.69, 0.67), squares); }
  let gloss = select(0.25, 0.0, is_checker) * sun * pow(max(dot(normal, half_way), 0.0), 48.0);
  var colour = albedo * (ambient + sun * vec3<f32>(0.85, 0.82, 0.76)) + gloss;
  if (point.look.z > 0.0) { colour = albedo; }
  let distance = length(frame.eye.xyz - point.position);
  colour = mix(colour, frame.sky.rgb, 1.0 - exp(-pow(distance / frame.sun.w, 3.0)));
  return vec4<f32>(pow(colour, vec3<f32>(1.0 / 2.2)), point.rgba.a);
}

/// A crowd: how many parts each of how many worlds has, bodies of a world, where its instances begin.
struct Crowd {
  parts: u32,
  worlds: u32,
  bodies: u32,
  first: u32,
}
@group(0) @binding(4) var<uniform> crowd: Crowd;
/// Position and quaternion of each body of each world.
@group(0) @binding(5) var<storage, read> poses: array<f32>;
/// As instances, in the frame of the body whose number is look.w.
@group(0) @binding(6) var<storage, read> parts: array<Instance>;
/// World, x and y of each rank.
@group(0) @binding(7) var<storage, read> ranks: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> placed_parts: array<Instance>;

fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
  let t = 2.0 * cross(q.yzw, v);
  return v + q.x * t + cross(q.yzw, t);
}

/// Places one part of one world.
@compute @workgroup_size(64)
fn place(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let index = id.x + 64u * groups.x * id.y;
  if (index >= crowd.parts * crowd.worlds) { return; }
  var part = parts[index / crowd.worlds];
  let rank = ranks[index % crowd.worlds];
  let at = 7u * (u32(rank.x) * crowd.bodies + u32(part.look.w));
  let body = vec3<f32>(poses[at] + rank.y, poses[at + 1u] + rank.z, poses[at + 2u]);
  let turn = vec4<f32>(poses[at + 3u], poses[at + 4u], poses[at + 5u], poses[at + 6u]);
  var columns = array<vec3<f32>, 4>();
  for (var c = 0; c < 4; c += 1) {
    columns[c] = turned(turn, vec3<f32>(part.rows[0][c], part.rows[1][c], part.rows[2][c]));
  }
  columns[3] += body;
  for (var r = 0; r < 3; r += 1) {
    part.rows[r] = vec4<f32>(columns[0][r], columns[1][r], columns[2][r], columns[3][r]);
  }
  placed_parts[crowd.first + index] = part;
}
