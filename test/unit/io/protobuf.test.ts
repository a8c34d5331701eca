import { expect, test } from "vitest";
import { bytes, float32, float64, integer, message, text } from "../../../src/io/protobuf.ts";

test("protobuf: the examples of its documentation, and numbers at the ends", () => {
  expect([...integer(1, 150)]).toEqual([0x08, 0x96, 0x01]);
  expect([...text(2, "testing")]).toEqual([0x12, 0x07, ...new TextEncoder().encode("testing")]);
  expect([...bytes(3, integer(1, 150))]).toEqual([0x1a, 0x03, 0x08, 0x96, 0x01]);
  expect([...integer(1, -2)]).toEqual([0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
  expect([...integer(16, 0)]).toEqual([0x80, 0x01, 0x00]);
  expect([...float32(5, 1)]).toEqual([0x2d, 0, 0, 0x80, 0x3f]);
  expect([...float64(1, 1)]).toEqual([0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
  expect([...message(integer(1, 1), [integer(2, 2)])]).toEqual([8, 1, 16, 2]);
});
