// the arenas of an environment: what each world keeps, takes and returns
import type { Model } from "../../model/model.ts";
import { fieldSize } from "../../model/fields.ts";
import type { ArenaRequest } from "../../memory/request.ts";
import { fieldRequest, stateFields } from "../../batch/kernel/record-io.ts";
import { actionWords } from "./action-line.ts";
import { actuatorWords } from "./actuator-line.ts";
import type { Actuation } from "../task/action-options.ts";
import type { Space } from "../space/spaces.ts";
import { total, type TaskShape } from "../task/shape.ts";

/** Words of the `episode` field of a world's state (u32), in order, and what each is. */
export const EPISODE_DOCS = {
  seedLow: "low word of the seed that keys the random numbers",
  seedHigh: "its high word",
  world: "stable id of the world",
  number: "episodes before this one",
  length: "control steps of the episode so far",
  ended: "how it ended, 0 while it goes on: bits terminated 1, truncated 2; within a reset also 4, 8, 16",
} as const;
export const EPISODE = places(EPISODE_DOCS);
const EPISODE_WORDS = Object.keys(EPISODE).length;

/** Bits of the word `ended`; the last three are from a reset to the step that evaluates it: asked for, with a seed, not. */
export const Ended = { terminated: 1, truncated: 2, asked: 4, seeded: 8, idle: 16 } as const;

/** First words of a world's result, in order, and what each is; all are floats, also counts and flags. */
export const RESULT_DOCS = {
  reward: "reward of the control step",
  terminated: "1 where the task ended the episode",
  truncated: "1 where the limit of control steps did",
  reset: "1 where this call put the world into a new episode",
  status: "bits of what went wrong in the step",
  episode_length: "control steps of the episode",
  episode_return: "sum of its rewards",
  ended_by: "bits of the conditions that held: terminations, then truncations, in the task's order",
  trip_status: "status bits of all steps since the host last read",
  trip_at: "the first of these steps that had any, from 0",
  trips: "how many had",
  bad_terms:
    "bits of reward terms, then parts of the observation, then infos, that were not finite in the first of them",
  epoch: "what the host had read",
  unread: "steps since",
} as const;
export const RESULT = places(RESULT_DOCS);
export const RESULT_WORDS = Object.keys(RESULT).length;

/** What follows the first words of a result, in order; see `resultOffsets`. */
export const RESULT_TAIL = "terms of the reward, infos, sums of the terms over the episode, infos of resets";

/** The place of each name. */
function places<K extends string>(docs: Readonly<Record<K, string>>): Readonly<Record<K, number>> {
  return Object.fromEntries(Object.keys(docs).map((name, i) => [name, i])) as Record<K, number>;
}

/** Info of worlds that may have more contacts than they have room for: most contacts of an evaluation in the step. */
export const CONTACTS_NEEDED = "contacts_needed";

/** Words of a request for a reset (u32): bits that ask, and a seed. */
export const REQUEST_WORDS = 4;
export const Ask = { reset: 1, seed: 2 } as const;

/** Numbers of the host's choice per world, so that a row starts at a multiple of 16 bytes. */
const padded = (n: number): number => Math.ceil(n / 4) * 4;

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
export const SNAPSHOT_ARENAS: readonly string[] = ["state", "obs", "result", "final_obs", "task_params"];

/** Arenas that a control step depends on: what the monitor copies of a world. */
export const monitoredOf = <A extends { readonly name: string }>(arenas: readonly A[]): A[] =>
  [...STATES, "action"].flatMap((name) => arenas.find((arena) => arena.name === name) ?? []);

const paramArena = (perWorld: number): ArenaRequest => ({
  name: "task_params",
  access: "read_write",
  fields: [{ name: "task_params", group: "task", type: "f32", perWorld }],
});

/** Field of a world's state that holds its own (randomised) numbers of the model. */
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
  const taskWords = taskOffsets(shape).actions + actionWords(actuation, action.size) + actuatorWords(shape.actuators);
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
