// Draws the parts of a scene: instances of shapes under lights with shadows, in colours or textures, and a sky.

struct Light {
  /// From the world to its map of shadows.
  view: mat4x4<f32>,
  /// w: 0 if it shines along a direction everywhere, 1 from its position.
  position: vec4<f32>,
  /// Where it shines, unit; w: cosine of the half angle of its cone.
  direction: vec4<f32>,
  /// w: exponent of the cone.
  diffuse: vec4<f32>,
  /// w: layer of its map of shadows.
  specular: vec4<f32>,
  /// Constant, linear and quadratic; w: how much nearer than the map a point may be.
  attenuation: vec4<f32>,
  /// Least and greatest coordinates in its map between which something casts a shadow.
  bounds: vec4<f32>,
}
/// Colours are linear: squares of those that are shown.
struct Frame {
  /// From the world to the picture.
  view: mat4x4<f32>,
  eye: vec4<f32>,
  /// What fog takes on; w: how far it lets see (m).
  sky: vec4<f32>,
  /// Light from below and from above that comes from everywhere.
  low: vec4<f32>,
  high: vec4<f32>,
  /// Along the middle of the picture, and to its right and upper edge from there.
  ahead: vec4<f32>,
  right: vec4<f32>,
  up: vec4<f32>,
  lights: array<Light, 8>,
}
/// A part: rows of its frame with the position behind them, half sizes and half length, colour; look.x: how much it
/// shines by itself, look.y: squares of its checker (m), look.z: without light and shadow; skin.xy: scale of the texture's
/// coordinates over x and y, 0 where vertices have them, of a cube 1 if directions are in metres; skin.z: specular,
/// skin.w: exponent of the gloss.
struct Instance {
  rows: array<vec4<f32>, 3>,
  size: vec4<f32>,
  rgba: vec4<f32>,
  look: vec4<f32>,
  skin: vec4<f32>,
}
/// How many lights there are; a bit each: which of them shine from a place, and which have a map of shadows. What is
/// known when a pipeline is made costs nothing where it is not needed, and every light has its fixed place.
override lights = 8u;
override near = 255u;
override casting = 255u;
/// The first of these, whose map's coordinates come with a point: a matrix for each corner, not for each pixel.
override first_caster = min(firstTrailingBit(casting), 7u);
/// Looks into a map of shadows: 4, or 2 across its texels.
override looks = 4;
@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> instances: array<Instance>;
@group(0) @binding(2) var shadows: texture_depth_2d_array;
@group(0) @binding(3) var shadow_sampler: sampler_comparison;
/// The light whose map is drawn.
@group(1) @binding(0) var<uniform> caster: vec4<u32>;
@group(1) @binding(1) var smooth_sampler: sampler;
@group(1) @binding(2) var image: texture_2d<f32>;
@group(1) @binding(3) var cube: texture_cube<f32>;

struct Vertex {
  @location(0) position: vec3<f32>,
  @location(1) normal: vec3<f32>,
  @location(2) end: f32,
  @location(3) uv: vec2<f32>,
  @builtin(instance_index) instance: u32,
}
struct Point {
  @builtin(position) clip: vec4<f32>,
  @location(0) position: vec3<f32>,
  @location(1) normal: vec3<f32>,
  /// Coordinates of a texture, a direction in a cube, or places of a checker.
  @location(2) at: vec3<f32>,
  /// The colour, linear.
  @location(3) @interpolate(flat) rgba: vec4<f32>,
  @location(4) @interpolate(flat) look: vec4<f32>,
  @location(5) shade: vec4<f32>,
}

struct Placed {
  local: vec3<f32>,
  position: vec3<f32>,
}
fn placed(v: Vertex) -> Placed {
  let size = instances[v.instance].size;
  var out: Placed;
  out.local = v.position * size.xyz + vec3<f32>(0.0, 0.0, v.end * size.w);
  for (var i = 0u; i < 3u; i += 1u) {
    let row = instances[v.instance].rows[i];
    out.position[i] = dot(row.xyz, out.local) + row.w;
  }
  return out;
}

/// Where a point is in a light's map, moved a little out of its surface.
fn shade_of(light: Light, position: vec3<f32>, normal: vec3<f32>) -> vec4<f32> {
  return light.view * vec4<f32>(position + 0.002 * frame.sky.w * normal, 1.0);
}

fn point_of(v: Vertex) -> Point {
  let place = placed(v);
  let instance = instances[v.instance];
  let direction = normalize(v.normal / instance.size.xyz);
  var point: Point;
  for (var i = 0u; i < 3u; i += 1u) { point.normal[i] = dot(instance.rows[i].xyz, direction); }
  point.position = place.position;
  point.rgba = vec4<f32>(instance.rgba.rgb * instance.rgba.rgb, instance.rgba.a);
  point.look = vec4<f32>(instance.look.x, instance.look.z, instance.skin.zw);
  point.clip = frame.view * vec4<f32>(point.position, 1.0);
  point.shade = shade_of(frame.lights[first_caster], point.position, point.normal);
  return point;
}

@vertex
fn vertex_plain(v: Vertex) -> Point { return point_of(v); }

@vertex
fn vertex_checker(v: Vertex) -> Point {
  var point = point_of(v);
  point.at = placed(v).local / max(instances[v.instance].look.y, 1e-3);
  return point;
}

/// As MuJoCo's renderer makes coordinates: over the x and y of a geom, from -1/2 on.
@vertex
fn vertex_image(v: Vertex) -> Point {
  var point = point_of(v);
  let scale = instances[v.instance].skin.xy;
  let made = placed(v).local.xy * scale * vec2<f32>(1.0, -1.0) - 0.5;
  point.at = vec3<f32>(select(made, v.uv, scale.x == 0.0), 0.0);
  return point;
}

@vertex
fn vertex_cube(v: Vertex) -> Point {
  var point = point_of(v);
  let instance = instances[v.instance];
  let size = instance.size.xyz + vec3<f32>(0.0, 0.0, instance.size.w);
  point.at = placed(v).local / select(size, vec3<f32>(1.0), instance.skin.x > 0.0);
  return point;
}

@vertex
fn vertex_shadow(v: Vertex) -> @builtin(position) vec4<f32> {
  return frame.lights[caster.x].view * vec4<f32>(placed(v).position, 1.0);
}

/// How much of a light reaches a point: the mean of some looks into its map. A loop without turns costs nothing, also
/// where other pixels of a group take them.
fn sunlit(light: Light, clip: vec4<f32>, is_facing: bool) -> f32 {
  let at = clip.xyz / clip.w;
  let uv = at.xy * vec2<f32>(0.5, -0.5) + 0.5;
  let inside = is_facing && clip.w > 0.0 && all(uv > light.bounds.xy) && all(uv < light.bounds.zw);
  let step = 1.5 / f32(textureDimensions(shadows).x);
  // what lies beyond the map is not behind its empty part
  let depth = min(at.z - light.attenuation.w, 0.9999);
  let layer = i32(light.specular.w);
  var sum = 0.0;
  for (var k = 0; k < select(0, looks, inside); k += 1) {
    let offset = step * (vec2<f32>(f32(k & 1), f32(select(k & 1, k >> 1, looks > 2))) - 0.5);
    sum += textureSampleCompareLevel(shadows, shadow_sampler, uv + offset, layer, depth);
  }
  return select(1.0, sum / f32(looks), inside);
}

/// What a light adds to the colour of a point.
fn lit(light: Light, index: u32, point: Point, albedo: vec3<f32>, normal: vec3<f32>, to_eye: vec3<f32>) -> vec3<f32> {
  var towards = -light.direction.xyz;
  var strength = 1.0;
  if (((near >> index) & 1u) != 0u) {
    let from_light = light.position.xyz - point.position;
    let far = max(length(from_light), 1e-6);
    towards = from_light / far;
    let spot = -dot(towards, light.direction.xyz);
    let fading = light.attenuation.xyz;
    strength = smoothstep(light.direction.w, light.direction.w + 0.02, spot) * pow(max(spot, 1e-3), light.diffuse.w)
      / max(fading.x + far * (fading.y + far * fading.z), 1e-3);
  }
  let facing = max(dot(normal, towards), 0.0);
  strength *= facing;
  if (((casting >> index) & 1u) != 0u) {
    var clip = point.shade;
    if (index != first_caster) { clip = shade_of(light, point.position, normal); }
    strength *= sunlit(light, clip, facing > 0.0);
  }
  // Schlick's stand-in for a power
  let h = max(dot(normal, normalize(towards + to_eye)), 0.0);
  let gloss = point.look.z * h / max(point.look.w * (1.0 - h) + h, 1e-6);
  return strength * (albedo * light.diffuse.rgb + gloss * light.specular.rgb);
}

fn shaded(point: Point, albedo: vec3<f32>) -> vec4<f32> {
  let from_eye = frame.eye.xyz - point.position;
  let distance = length(from_eye);
  let to_eye = from_eye / distance;
  var normal = normalize(point.normal);
  // a plane has two sides
  normal = select(normal, -normal, dot(normal, to_eye) < 0.0);
  var colour = albedo * (mix(frame.low.rgb, frame.high.rgb, normal.z * 0.5 + 0.5) + point.look.x);
  if (lights > 0u) { colour += lit(frame.lights[0], 0u, point, albedo, normal, to_eye); }
  if (lights > 1u) { colour += lit(frame.lights[1], 1u, point, albedo, normal, to_eye); }
  if (lights > 2u) { colour += lit(frame.lights[2], 2u, point, albedo, normal, to_eye); }
  if (lights > 3u) { colour += lit(frame.lights[3], 3u, point, albedo, normal, to_eye); }
  if (lights > 4u) { colour += lit(frame.lights[4], 4u, point, albedo, normal, to_eye); }
  if (lights > 5u) { colour += lit(frame.lights[5], 5u, point, albedo, normal, to_eye); }
  if (lights > 6u) { colour += lit(frame.lights[6], 6u, point, albedo, normal, to_eye); }
  if (lights > 7u) { colour += lit(frame.lights[7], 7u, point, albedo, normal, to_eye); }
  if (point.look.y > 0.0) { colour = albedo; }
  let depth = distance / frame.sky.w;
  let fog = depth * depth * depth;
  colour = mix(colour, frame.sky.rgb, fog / (1.0 + fog));
  return vec4<f32>(sqrt(colour), point.rgba.a);
}

@fragment
fn plain(point: Point) -> @location(0) vec4<f32> { return shaded(point, point.rgba.rgb); }

/// A checker's mean over the pixel, so that far squares do not flicker.
@fragment
fn checker(point: Point) -> @location(0) vec4<f32> {
  let p = point.at.xy;
  let w = max(fwidth(p), vec2<f32>(1e-4));
  let i = 2.0 * (abs(fract((p - 0.5 * w) * 0.5) - 0.5) - abs(fract((p + 0.5 * w) * 0.5) - 0.5)) / w;
  return shaded(point, point.rgba.rgb * (1.0 + 0.16 * i.x * i.y));
}

@fragment
fn with_image(point: Point) -> @location(0) vec4<f32> {
  let texel = textureSample(image, smooth_sampler, point.at.xy);
  var tinted = point;
  tinted.rgba.a *= texel.a;
  return shaded(tinted, point.rgba.rgb * texel.rgb * texel.rgb);
}

@fragment
fn with_cube(point: Point) -> @location(0) vec4<f32> {
  let texel = textureSample(cube, smooth_sampler, point.at);
  return shaded(point, point.rgba.rgb * texel.rgb * texel.rgb);
}

struct SkyPoint {
  @builtin(position) clip: vec4<f32>,
  @location(0) direction: vec3<f32>,
}

/// One triangle behind everything.
@vertex
fn vertex_sky(@builtin(vertex_index) index: u32) -> SkyPoint {
  let x = select(-1.0, 3.0, index == 1u);
  let y = select(-1.0, 3.0, index == 2u);
  return SkyPoint(vec4<f32>(x, y, 1.0, 1.0), frame.ahead.xyz + x * frame.right.xyz + y * frame.up.xyz);
}

/// The faces of a skybox have y up.
@fragment
fn with_sky(point: SkyPoint) -> @location(0) vec4<f32> {
  let d = point.direction;
  return vec4<f32>(textureSampleLevel(cube, smooth_sampler, vec3<f32>(d.x, d.z, -d.y), 0.0).rgb, 1.0);
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
