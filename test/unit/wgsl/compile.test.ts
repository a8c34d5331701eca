// WGSL as WebAssembly: what small programs of every construct compute, and what is refused
import { expect, test } from "vitest";
import { compileWgsl } from "../../../src/wgsl/compile.ts";

const SCRATCH = { at: 16, bytes: 496 };
const [INPUT, OUTPUT] = [512, 1024];

const HEAD = `
struct Pair { a: f32, b: vec2<f32>, many: array<vec4<f32>, 2> }
const STEP = 3u;
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> pairs: array<Pair>;
`;

/** What `body` writes to `out`, for inputs 1, 2, 3, ...; \`more\`: what stands above the entry point. */
function run(body: string, more = "", size = 1): number[] {
  const code = `${HEAD}${more}
@compute @workgroup_size(${size})
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) { ${body} }`;
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
  new Float32Array(memory.buffer, INPUT, 16).forEach((_, i, all) => (all[i] = i + 1));
  const { module } = compileWgsl(code, { entry: "main", bindings: [0, 1, 2], scratchBytes: SCRATCH.bytes });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module), { corral: { memory } });
  (exports.run as unknown as (...args: number[]) => void)(2, 1, 1, 0, 2 * size, SCRATCH.at, INPUT, OUTPUT, 2048);
  return [...new Float32Array(memory.buffer, OUTPUT, 8)];
}

test.each([
  [
    "vectors, swizzles and lanes",
    "let v = vec4<f32>(input[0], input[1], 5.0, 6.0); let w = v.zyx; out[0] = w.x + v[1u] * 10.0;",
    25,
  ],
  ["a lane that is known at run time", "var v = vec4<f32>(1.0, 2.0, 4.0, 8.0); out[0] = v[u32(input[2])];", 8],
  ["a lane that is written", "var v = vec4<f32>(1.0); v[STEP] = 7.0; v.x += 2.0; out[0] = v.w * 10.0 + v.x;", 73],
  [
    "loops with continue and break",
    "var s = 0.0; for (var i = 0u; i < 10u; i += 1u) { if (i == 2u) { continue; } if (i > 4u) { break; } s += input[i]; } out[0] = s;",
    12,
  ],
  [
    "while and loop",
    "var n = 1u; while (n < 20u) { n *= 3u; } loop { n -= 1u; if (n % 5u == 0u) { break; } } out[0] = f32(n);",
    25,
  ],
  [
    "what && guards is not computed",
    "let n = u32(input[0]) - 1u; out[0] = select(1.0, 2.0, n == 0u || 6u % n == 0u);",
    2,
  ],
  [
    "selection, clamping, rounding to even",
    "out[0] = clamp(round(2.5), -1.0, 9.0) + select(10.0, 20.0, input[0] > 0.5) + min(f32(3), 4.0);",
    25,
  ],
  [
    "integers: shifts, bits, wrapping products",
    "let x = (0x9e3779b1u * 3u) >> 4u; out[0] = f32((x ^ 0xffu) & 15u) + f32(i32(-7.9));",
    7,
  ],
  ["bits of floats", "out[0] = bitcast<f32>(bitcast<u32>(input[2]) + (1u << 23u));", 6],
  [
    "fma of vectors and a sum of lanes",
    "let v = fma(vec4<f32>(2.0), vec4<f32>(1.0, 2.0, 3.0, 4.0), vec4<f32>(1.0)); out[0] = dot(v, vec4<f32>(1.0));",
    24,
  ],
  [
    "masks of vectors",
    "let v = vec4<u32>(4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(6u); out[0] = dot(select(vec4<f32>(0.0), vec4<f32>(1.0), v), vec4<f32>(1.0));",
    2,
  ],
  [
    "structs in memory",
    "pairs[1].b = vec2<f32>(3.0, 4.0); pairs[1].many[u32(input[0])] = vec4<f32>(9.0); let p = pairs[1]; out[0] = p.b.y + p.many[1].z + pairs[1].many[0].x;",
    13,
  ],
])("%s", (_, body, wanted) => {
  expect(run(body)[0]).toBe(wanted);
});

test("functions stand in the place of their calls, with early returns and structs", () => {
  const more = `
fn half(x: f32) -> f32 { if (x > 4.0) { return x; } return 0.5 * x; }
fn make(x: f32) -> Pair { var p: Pair; p.a = half(x); p.many = array<vec4<f32>, 2>(vec4<f32>(x), vec4<f32>(2.0 * x)); return p; }`;
  const body =
    "let p = make(input[2]); let q = make(8.0); out[0] = p.a + q.a * 10.0 + p.many[u32(input[0])].y * 100.0;";
  expect(run(body, more)[0]).toBe(681.5);
});

test("every invocation of every workgroup runs, and variables start anew", () => {
  const body = "var n: f32; n += 1.0; out[gid.x] += f32(gid.x) * 10.0 + f32(group.x) + n;";
  expect(run(body, "", 3).slice(0, 7)).toEqual([1, 11, 21, 32, 42, 52, 0]);
});

test.each([
  ["a function that it does not know", "out[0] = atan2(1.0, 2.0);", "", /atan2/],
  ["a name that is not there", "out[0] = missing;", "", /missing/],
  ["a barrier among several invocations", "workgroupBarrier();", "", /barrier/],
  [
    "what is not bound",
    "out[0] = other[0];",
    "@group(0) @binding(7) var<storage, read> other: array<f32>;",
    /other, which is not bound/,
  ],
  [
    "more scratch than there is",
    "out[0] = big[u32(input[0])];",
    "var<workgroup> big: array<f32, 4096>;",
    /more memory/,
  ],
])("refuses %s", (_, body, more, why) => {
  expect(() => run(body, more, 2)).toThrow(why);
});
