// names of what actuators do beside the MJCF's in the program of a step, by which it is found in a recorded one

/** The stage that makes what acts in a physics step of the state before it. */
export const DRIVEN_STAGE = "actuators";

/** What a world keeps of an actuator, and what it makes of it. Names are in bundles: they stay. */
const WORDS = ["past", "followed", "error", "speed", "control", "low", "high", "offset"] as const;
export type DrivenWord = (typeof WORDS)[number];

/** The variable of an actuator; of several, `_0` and so on follow. */
export const drivenName = (actuator: number, word: DrivenWord): string => `actuator${actuator}_${word}`;

/** The actuator and the word in the name of a variable, and the name without its number; undefined for others. */
export function drivenIn(name: string): { actuator: number; word: DrivenWord; index: number } | undefined {
  const [, actuator, word, index = "0"] = /^actuator(\d+)_([a-z]+)(?:_(\d+))?$/.exec(name) ?? [];
  if (!(WORDS as readonly string[]).includes(word)) return undefined;
  return { actuator: Number(actuator), word: word as DrivenWord, index: Number(index) };
}
