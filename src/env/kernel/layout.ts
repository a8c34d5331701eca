// the arenas of an environment: what each world keeps, takes and returns
import type { Model } from "../../model/model.ts";
import { fieldSize } from "../../model/fields.ts";
import type { ArenaRequest } from "../../memory/request.ts";
import { fieldRequest, stateFields } from "../../batch/record-io.ts";
import { actionWords } from "./action-line.ts";
import type { Actuation } from "../task/action-options.ts";
import type { Space } from "../space/spaces.ts";
import { total, type TaskShape } from "../task/shape.ts";

/** Words of the `episode` field of a world's state (u32). */
export const EPISODE = { seedLow: 0, seedHigh: 1, world: 2, number: 3, length: 4, ended: 5 } as const;
export const EPISODE_WORDS = 6;

/** Bits of the word `ended`: how the episode ended, 0 while it goes on. */
export const Ended = { terminated: 1, truncated: 2 } as const;

/** First words of a world's result; all are floats, also counts and flags. The terms follow, then infos, sums of terms, reset infos. */
export const RESULT = {
  reward: 0,
  terminated: 1,
  truncated: 2,
  /** 1 where this call put the world into a new episode. */
  reset: 3,
  status: 4,
  episode_length: 5,
  episode_return: 6,
  /** Bits of the conditions that held: terminations, then truncations, in the task's order. */
  ended_by: 7,
  /** Since the host last read: status bits of all steps, the first step that had any (from 0), how many had. */
  trip_status: 8,
  trip_at: 9,
  trips: 10,
  /** Bits of the terms of the reward, then the parts of the observation, then infos, that were not finite in that first step. */
  bad_terms: 11,
  /** What the host had read, and steps since. */
  epoch: 12,
  unread: 13,
} as const;
export const RESULT_WORDS = 14;

/** Info of worlds that may have more contacts than they have room for: most contacts of an evaluation in the step. */
export const CONTACTS_NEEDED = "contacts_needed";

/** Words of a request for a reset (u32): bits that ask, and a seed. */
export const REQUEST_WORDS = 4;
export const Ask = { reset: 1, seed: 2 } as const;

/** Numbers of the host's choice per world, so that a row starts at a multiple of 16 bytes. */
export const padded = (n: number): number => Math.ceil(n / 4) * 4;

/** Where the named numbers of a result start. */
export function resultOffsets(shape: TaskShape) {
  const terms = RESULT_WORDS;
  const infos = terms + shape.terms.length;
  const sums = infos + shape.infos.length;
  const resetInfos = sums + shape.terms.length;
  return { terms, infos, sums, resetInfos, words: resetInfos + shape.resetInfos.length };
}

/** Where the parts of the `task` field of a world's state start: the return, the sum of each term, and what is kept. */
export const taskOffsets = (shape: TaskShape) => {
  const carried = 1 + shape.terms.length;
  const memories = carried + total(shape.carried);
  return { return: 0, sums: 1, carried, memories, actions: memories + total(shape.memories) };
};

/** Arenas that hold what the future of a world depends on. */
export const STATES: readonly string[] = ["state", "task_params"];

/** Arenas that hold what an environment's future depends on, and its last results. */
export const KEPT: readonly string[] = ["state", "obs", "result", "final_obs", "task_params"];

/** Arenas that a control step depends on: what the monitor copies of a world. */
export const monitoredOf = <A extends { readonly name: string }>(arenas: readonly A[]): A[] =>
  [...STATES, "action"].flatMap((name) => arenas.find((arena) => arena.name === name) ?? []);

const paramArena = (perWorld: number): ArenaRequest => ({
  name: "task_params",
  access: "read_write",
  fields: [{ name: "task_params", group: "task", type: "f32", perWorld }],
});

/** Field of a world's state with the numbers of the model that it has of its own. */
export const PER_WORLD = "per_world";

/** What the arenas of an environment depend on. */
export interface ArenaNeeds {
  readonly model: Model;
  readonly shape: TaskShape;
  readonly action: Space;
  readonly actuation: Actuation;
  readonly finalObs: boolean;
}

export function envArenas({ model, shape, action, actuation, finalObs }: ArenaNeeds): ArenaRequest[] {
  const randomWords = shape.random.entries.length + shape.random.derived.length;
  const taskWords = taskOffsets(shape).actions + actionWords(actuation, action.size);
  const row = (name: string, type: "f32" | "i32" | "u32", perWorld: number): ArenaRequest => ({
    name,
    access: "read_write",
    layout: "rows",
    fields: [{ name, group: "task", type, perWorld: padded(perWorld) }],
  });
  return [
    {
      name: "state",
      access: "read_write",
      fields: [
        ...stateFields(model, false).map((name) => fieldRequest(name, "state", fieldSize(model, name))),
        { name: "episode", group: "task", type: "u32", perWorld: EPISODE_WORDS },
        { name: "task", group: "task", type: "f32", perWorld: taskWords },
        ...(randomWords > 0
          ? [{ name: PER_WORLD, group: "model", type: "f32" as const, perWorld: randomWords, remedy: "randomise less" }]
          : []),
      ],
    },
    row("action", action.dtype === "int32" ? "i32" : "f32", action.size),
    row("obs", "f32", shape.nobs),
    ...(finalObs ? [row("final_obs", "f32", shape.nobs)] : []),
    row("result", "f32", resultOffsets(shape).words),
    row("request", "u32", REQUEST_WORDS),
    ...(shape.params.length > 0 ? [paramArena(total(shape.params))] : []),
  ];
}
