// the tier of V8 that kernels are compiled by
import { expect, test } from "vitest";
import { compileModule, flagsFor } from "../../../src/batch/wasm/compile.ts";
import { compiledFor } from "../../../src/batch/wasm/too-large.ts";

test("each V8 has the flags that are fastest there", () => {
  const names = (v8: string, bytes: number) => Object.keys(flagsFor(v8, bytes));
  expect(names("11.3.244.8-node.30", 50_000)).toEqual([]);
  expect(names("11.3.244.8-node.30", 200_000)).toContain("--no-wasm-tier-up");
  expect(names("12.4.254.21-node.33", 50_000)).toContain("--turboshaft-wasm");
  expect(names("13.6.233.17-node.37", 200_000)).toEqual([]);
  // each is taken back
  for (const flags of [flagsFor("11.3.1", 200_000), flagsFor("12.4.1", 1)])
    for (const [flag, back] of Object.entries(flags))
      expect(back.replace("--no-", "--")).toBe(flag.replace("--no-", "--"));
});

test("what is no module is refused, under flags or not", () => {
  for (const bytes of [new Uint8Array(8), new Uint8Array(200_000)])
    expect(() => compileModule(bytes)).toThrow(WebAssembly.CompileError);
  expect(compileModule(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))).toBeInstanceOf(WebAssembly.Module);
});

test("a function that is longer than V8 takes is refused with both sizes", () => {
  const length = 8_000_000;
  const leb = (n: number) => [0, 7, 14, 21].map((shift, k) => ((n >> shift) & 0x7f) | (k < 3 ? 0x80 : 0));
  // one function of no locals, nothing but nops
  const body = [...leb(length), 0];
  const head = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, ...leb(length + 5), 1, ...body];
  const bytes = new Uint8Array(head.length + length - 1).fill(1);
  bytes.set(head);
  bytes[bytes.length - 1] = 0x0b;
  expect(() => compiledFor("ostrich", () => compileModule(bytes))).toThrow(
    /^\[kernel-too-large\] ostrich takes a kernel of 7\.63 MiB in one function, and WebAssembly takes 7\.30 MiB here\. Pass device: "cpu"/,
  );
});
