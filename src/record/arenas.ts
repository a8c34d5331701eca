// the ring of the flight recorder: states every few control steps, and every action since
import type { ArenaLayout } from "../memory/layout.ts";
import type { ArenaRequest } from "../memory/request.ts";
import type { RecorderSettings } from "./options.ts";

/** Arenas of the ring are called after what they copy. */
export const recordOf = (arena: string): string => `record_${arena}`;

/** Which worlds are recorded, where not all are: per world 1 + its place in the ring, or 0. */
export const PLACES = "record_places";

/** Words of a row of the ring of actions before the first action; the first is the counter of steps in the ring. */
export const HEAD_WORDS = 4;

const four = (n: number) => 4 * Math.ceil(n / 4);

/** Words of a world's record in an arena. */
const recordWords = (arena: ArenaRequest): number =>
  arena.fields.reduce((sum, { perWorld = 0 }) => sum + four(perWorld), 0);

/**
 * Arenas of the ring: for each recorded world a row of `keep` copies of each of `states`, and a row of the actions of
 * `keep` times `everySteps` steps.
 */
export function recordArenas(
  states: readonly ArenaRequest[],
  action: ArenaRequest,
  { everySteps, keep, worlds }: RecorderSettings,
): ArenaRequest[] {
  const row = (name: string, words: number): ArenaRequest => {
    const size = worlds === "all" ? { perWorld: words } : { shared: words * worlds.length };
    const field = { name, group: "record", type: "u32", ...size, remedy: "a shorter recorder, or none" } as const;
    return { name, access: "read_write", layout: "rows", scope: "shard", fields: [field] };
  };
  const places = { name: PLACES, group: "record", type: "u32", perWorld: 4 } as const;
  return [
    ...states.map((s) => row(recordOf(s.name), keep * recordWords(s))),
    row(recordOf(action.name), HEAD_WORDS + keep * everySteps * recordWords(action)),
    ...(worlds === "all" ? [] : [{ name: PLACES, access: "read_write", layout: "rows", fields: [places] } as const]),
  ];
}

/** Elements of one world in an arena. */
export const wordsOf = (layout: ArenaLayout): number => layout.bytesPerWorld / 4;
