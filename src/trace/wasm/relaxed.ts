// whether this engine has the relaxed instruction that takes lanes of two vectors: of whole masks its bits are those of `bitselect`
import { Bytes, MAGIC, Section } from "./bytes.ts";
import { Op32, Simd } from "./opcodes.ts";

let known: boolean | undefined;

/** Whether `i32x4.relaxed_laneselect` compiles here: one instruction of x64, where `bitselect` is three. */
export function hasLaneSelect(): boolean {
  known ??= WebAssembly.validate(selecting());
  return known;
}

/** A module whose one function uses the instruction, and nothing else. */
function selecting(): Uint8Array<ArrayBuffer> {
  const body = new Bytes().unsigned(0);
  for (let k = 0; k < 3; k++) body.byte(Op32["i32.const"], 0, 0xfd, Simd["i32x4.splat"]);
  body.byte(0xfd).unsigned(Simd["i32x4.relaxed_laneselect"]).byte(Op32.drop, Op32.end);
  const sections: readonly (readonly [number, Bytes])[] = [
    [Section.type, new Bytes().byte(1, 0x60, 0, 0)],
    [Section.function, new Bytes().byte(1, 0)],
    [Section.code, new Bytes().unsigned(1).sized(body)],
  ];
  const module = new Bytes().byte(...MAGIC);
  for (const [id, section] of sections) module.byte(id).sized(section);
  return module.all.slice();
}
