import { describe, expect, test } from "vitest";
import { fixed, formatApart, formatBytes, formatCount, parseBytes } from "../../../src/core/units.ts";

const GIB = 2 ** 30;

test.each([
  [-0.04, 1, "0.0"],
  [-0.06, 1, "-0.1"],
  [-0.4, 0, "0"],
  [-10, 0, "-10"],
  [-0.0049, 2, "0.00"],
  [1.25, 2, "1.25"],
  [NaN, 1, "NaN"],
  [-Infinity, 1, "-Infinity"],
])("%s with %s decimals is %s", (x, decimals, text) => {
  expect(fixed(x, decimals)).toBe(text);
});

test("bytes that are needed are told from fewer that there are", () => {
  expect(formatApart(720_896, 720_895)).toEqual(["704 KiB (720,896 B)", "704 KiB (720,895 B)"]);
  expect(formatApart(720_896, 720_896)).toEqual(["704 KiB", "704 KiB"]);
  expect(formatApart(720_896, 512)).toEqual(["704 KiB", "512 B"]);
});

describe("parseBytes", () => {
  test.each([
    [0, 0],
    [1, 1],
    [4096, 4096],
    ["0", 0],
    ["4096", 4096],
    ["12B", 12],
    ["6GiB", 6 * GIB],
    ["6 GiB", 6 * GIB],
    ["1.5GiB", 1.5 * GIB],
    ["0.1GiB", 107374182],
    ["512MB", 512e6],
    ["3kB", 3000],
    ["3KB", 3000],
    ["3KiB", 3072],
    ["2TB", 2e12],
    ["2TiB", 2 * 2 ** 40],
  ])("%s is %s bytes", (value, bytes) => {
    expect(parseBytes(value)).toBe(bytes);
  });

  test.each([
    [0.8, 80],
    ["0.8", 80],
    ["80%", 80],
    ["80 %", 80],
    ["100%", 100],
    ["12.5%", 12],
    ["1B", 1],
    [40, 40],
  ])("%s of 100 bytes is %s", (value, bytes) => {
    expect(parseBytes(value, "budget", 100)).toBe(bytes);
  });

  test.each([
    "2 gigs",
    "gigs",
    "",
    " ",
    "6gib",
    "6Gib",
    "6 Gb",
    "6  GiB",
    "-6GiB",
    "+6GiB",
    "6,000",
    "1e9",
    "0x10",
    "NaN",
    "Infinity",
    "6GiB of it",
    "6constructor",
    "9007199254740993",
    "9000000TiB",
    "50%",
    0.5,
    1.5,
    -1,
    -0.5,
    Number.NaN,
    Infinity,
    2 ** 53,
    null,
    undefined,
    {},
    6n,
  ])("%s is refused", (value) => {
    expect(() => parseBytes(value as string, "budget")).toThrowError(/^\[bad-bytes\] budget is /);
  });

  test.each(["101%", 1, "1", 1.5])("%s of a whole is refused", (value) => {
    expect(() => parseBytes(value, "budget", 100)).toThrowError(/^\[bad-bytes\] budget is /);
  });

  test("names the value and the remedy", () => {
    expect(() => parseBytes("2 gigs", "budget")).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [bad-bytes] budget is "2 gigs": "gigs" is no unit of bytes. Pass bytes as a number, or text such as "6GiB" or "512MB", or a part such as 0.8 or "80%".]`,
    );
  });
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.00 KiB"],
  [10230, "9.99 KiB"],
  [10240, "10.0 KiB"],
  [102400, "100 KiB"],
  [2 ** 20 - 1, "1,024 KiB"],
  [56.2 * 2 ** 20, "56.2 MiB"],
  [6 * GIB, "6.00 GiB"],
  [2 ** 53, "8,192 TiB"],
])("%s bytes print as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("counts have commas", () => {
  expect([0, 999, 1000, 65536, 1e6].map(formatCount)).toEqual(["0", "999", "1,000", "65,536", "1,000,000"]);
});
