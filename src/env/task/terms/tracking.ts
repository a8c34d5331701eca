// following a target, and targets that change
import { exp } from "../../../trace/math.ts";
import { add, clamp, div, le, mul, neg, select, sub, toF32, type Scalar } from "../../../trace/scalar.ts";
import { CorralError } from "../../../core/errors.ts";
import { isOwnKey } from "../own-key.ts";
import type { Scene } from "../task.ts";
import { sumOfSquares } from "./basics.ts";
import { isNumber, needs, needsOptions, needsSpan, numbers, type Source } from "./source.ts";

/** exp(-|value - target|² / width²): 1 on the target, 1/e at `width` from it. */
export const tracking =
  (value: Source, target: Source, width: number) =>
  (s: Scene): Scalar => {
    needs(isNumber(width) && width > 0, "width of tracking", width, "a number above 0");
    const [x, goal] = [numbers(value, s, "value"), numbers(target, s, "target")];
    if (x.length !== goal.length)
      throw new CorralError("term-shape", `tracking has ${x.length} values and ${goal.length} targets; give as many.`);
    return exp(neg(div(sumOfSquares(x.map((v, i) => sub(v, goal[i]))), width * width)));
  };

export interface CommandOptions {
  /** Seconds between changes: [least, most]. Default: none, so that an episode has one command. */
  readonly every?: readonly [number, number];
  /** Key of the world's memory. Commands of the same ranges are the same, unless they have keys of their own. Of ranges that are functions (`ramp`) each command has one, where there are several. */
  readonly key?: string;
}

/**
 * A command drawn uniformly from ranges, new with each episode and then after `every` seconds. Ends of the ranges are
 * numbers or expressions, such as "-param.speed": so a curriculum widens them for some worlds.
 */
export const command =
  (ranges: readonly (readonly [Source, Source])[], options: CommandOptions = {}) =>
  (s: Scene): readonly Scalar[] => {
    needs(
      Array.isArray(ranges),
      "the ranges of command",
      ranges,
      "a list of [low, high], one for each number of the command",
    );
    const { every } = options;
    const text = `command ${ranges.map(String).join("; ")} every ${String(every)}`;
    const { key = text } = options;
    needsOptions("command", options, ["every", "key"]);
    if (every !== undefined) needsSpan("every of command", every);
    const pairs = Array.isArray(ranges) && ranges.length > 0 && ranges.every((r) => Array.isArray(r) && r.length === 2);
    needs(pairs, "the ranges of command", ranges, "a list of [low, high], one for each number of the command");
    const turned = ranges.find(([low, high]) => isNumber(low) && isNumber(high) && low > high);
    needs(turned === undefined, "a range of command", turned, "[low, high], low <= high");
    // functions of one text may do different things, as ramps with other ends do
    const functions = ranges.flat().filter((end) => typeof end === "function");
    const isOwn = isOwnKey(`command ${key}`, options.key === undefined ? functions : [text]);
    needs(
      isOwn,
      "key of command",
      options.key,
      "a name that no command with other ranges has: command(ranges, { key })",
    );
    const drawn = (t: Scene): Scalar[] => {
      const draws = t.random.uniforms(ranges.length);
      return ranges.map(([low, high], i) => {
        const [[from], [to]] = [numbers(low, t, `range ${i}`), numbers(high, t, `range ${i}`)];
        return add(from, mul(draws[i], sub(to, from)));
      });
    };
    const wait = (t: Scene): Scalar => {
      const [least, most] = every ?? [1e30, 1e30];
      return least === most ? least : add(least, mul(t.random.uniforms(1)[0], most - least));
    };
    if (s.unbegun)
      throw new CorralError(
        "bad-term",
        "a command is read where the episode does not have one yet: it would be that of the episode before. In reset and randomise draw from random, or from starting(), which draws the same in a memory that is made then.",
      );
    const kept = s.memory(key, (t, before) => {
      const [next, pause] = [drawn(t), wait(t)];
      if (!before) return [...next, pause];
      const left = sub(before[ranges.length], t.dt);
      // half a step early: a sum of steps is not exact
      const over = le(left, mul(t.dt, 0.5));
      return [...next.map((x, i) => select(over, x, before[i], "f32")), select(over, pause, left, "f32")];
    });
    needs(kept.length === ranges.length + 1, "key of command", key, "that of another memory; give each its own");
    return kept.slice(0, ranges.length);
  };

/** A number that goes from one value to another over a world's first episodes: a curriculum without the host. */
export const ramp =
  (from: number, to: number, episodes: number) =>
  (s: Scene): Scalar => {
    needs([from, to].every(isNumber), "the ends of ramp", [from, to], "two numbers");
    needs(isNumber(episodes) && episodes > 0, "episodes of ramp", episodes, "a number above 0");
    return add(from, mul(to - from, clamp(div(toF32(s.episode), episodes), 0, 1)));
  };
