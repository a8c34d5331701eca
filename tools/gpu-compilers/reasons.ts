// why kernels that are over the bounds of docs/gpu.md are so
import type { Row } from "./measure.ts";

/** What a lane of AMD's and NVIDIA's GPUs has of registers, and bytes of code that caches of instructions hold. */
export const MOST_REGISTERS = 255;
export const MOST_CODE = 64_000;
/** Values and elements that corral lets live at once in a piece. */
const MOST_LIVE = 178;

/** By what a piece begins with, or that a kernel is whole; the first that fits. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    / \d+ solver$/,
    "Newton's loop: it turns as often as the worst world needs, which only the device knows, so that no host can cut within it",
  ],
  [
    / \d+ (acceleration|rne|make_constraint)$/,
    "all from there to the end of Newton's loop, which no host can cut: a stage that little is added to goes with it",
  ],
  [
    / \d+ after steps$/,
    "once a control step: observations, rewards, the ends of episodes and what is counted; no piece of an evaluation",
  ],
  [
    / 0$/,
    "once a control step: what begins an episode, with draws and what MuJoCo derives from a drawn model; a wave enters it if one of its worlds begins one",
  ],
  [
    / \d+ (steps|rk4|collision|integrate)$/,
    "all before the solver, loops where it can be; another cut would cost a dispatch an evaluation",
  ],
  [
    /^[^ ]+$/,
    "whole, since it needs no more registers than a lane has: a second piece would cost a dispatch an evaluation",
  ],
];

/** Of a kernel as GPUs get it; undefined if none was given. */
export function reasonFor({ name, amd }: Row): string | undefined {
  const why = REASONS.find(([kernel]) => kernel.test(name))?.[1];
  if (why === undefined || amd === undefined || amd.live <= MOST_REGISTERS) return why;
  return amd.spilled === 0
    ? `${why}. Registers are counted before instructions are ordered; none is spilled after`
    : `${why}. No more than ${MOST_LIVE} of its values live at once as corral counts; what else the compiler keeps is not known`;
}
