import { expect, test } from "vitest";
import { crc32c, restartRecord, scalarsRecord, versionRecord } from "../../../src/io/tensorboard.ts";

test("CRC-32C of RFC 3720, B.4", () => {
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
  expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
});

// tensorboard's RecordWriter and event_pb2 of Python wrote these (tools/reference/record_tensorboard.py)
const PYTHON =
  "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110" +
  "100000000000000095fbfe180900006040fc54d9411081013a020801288d09d1" +
  "3d000000000000006049f1ec090000a040fc54d94110f0a2042a2e0a1a0a13726f6c6c6f75742f65705f7265775f6d65616e15000048410a100a09747261696e2f73746415000080be95cdbc26";

test("event files are what Python's tensorboard writes", () => {
  const records = [
    versionRecord(1700000000.5),
    restartRecord(1700000001.5, 129),
    scalarsRecord(1700000002.5, 70_000, { "rollout/ep_rew_mean": 12.5, "train/std": -0.25 }),
  ];
  expect(Buffer.concat(records).toString("hex")).toBe(PYTHON);
});
