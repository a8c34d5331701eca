// of the npz of a motion only what is read is unpacked, whatever else it holds, and nothing that is too large
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { readFrames } from "../../../src/env/task/motion-frames.ts";
import { writeNpy } from "../../../src/io/npy.ts";

const MODEL = `<mujoco><worldbody><body><joint name="elbow"/><geom size=".1"/></body></worldbody></mujoco>`;
const ROWS = writeNpy({ shape: [3, 1], values: Float64Array.of(0, 0.1, 0.2) });
const how = { model: MODEL, fps: 20 };

const u32 = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

test("an array that is not read need not be whole", async () => {
  const npz = zipSync({ "qpos.npy": ROWS, "xpos.npy": new Uint8Array(64).fill(0xab) }, { level: 0 });
  npz[npz.findIndex((_, at) => npz.subarray(at, at + 4).every((byte) => byte === 0xab))] ^= 1;
  expect((await readFrames(npz, how)).count).toBe(3);
});

test("an array that is not read may be of any size", async () => {
  const npz = zipSync({ "xpos.npy": new Uint8Array(64), "qpos.npy": ROWS });
  const entry = npz.findIndex((_, at) => at + 4 <= npz.length && u32(npz).getUint32(at, true) === 0x02014b50);
  u32(npz).setUint32(entry + 24, 2 ** 31, true);
  expect((await readFrames(npz, how)).count).toBe(3);
  const text = "\uFEFF# by an editor\n0\n0.1\n0.2\n";
  for (const csv of [text, new TextEncoder().encode(text)]) expect((await readFrames(csv, how)).count).toBe(3);
});

test("what says that it is too large is not unpacked", async () => {
  const npz = zipSync({ "qpos.npy": ROWS });
  const entry = npz.findIndex((_, at) => at + 4 <= npz.length && u32(npz).getUint32(at, true) === 0x02014b50);
  u32(npz).setUint32(entry + 24, 2 ** 29, true);
  await expect(readFrames(npz, how)).rejects.toThrow("qpos.npy of the npz is 512 MiB; it is at most 256 MiB");
});
