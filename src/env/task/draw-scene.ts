// what a world draws of its model when an episode starts may depend on it: on parameters, memories, the episode's number
import { toF32, type Scalar } from "../../trace/scalar.ts";
import { CorralError } from "../../core/errors.ts";
import type { Draws } from "./draws.ts";
import type { Scene, TermSource } from "./task.ts";
import { badTerm, sourceValue } from "./term-value.ts";

/** What there is none of yet: reading it is refused. */
const unmade = (nameOf: (key: string) => string): never =>
  new Proxy<never>({} as never, {
    get: (_: unknown, key) => {
      const text = `it reads ${nameOf(String(key))}; numbers of the model are drawn before the episode has a state or an action`;
      throw new CorralError("bad-term", `${text}.`);
    },
  });

/** A scene before there is a state: numbers of the model and of the world, and draws of its own. */
export const drawScene = (scene: Scene, random: Draws): Scene => ({
  ...scene,
  unbegun: true,
  random,
  d: unmade((name) => name),
  before: unmade((name) => `before.${name}`),
  action: unmade(() => "action"),
});

/** The one number of what a draw asks of the world, or as many as there are draws. */
export function drawnNumbers(source: TermSource<object>, scene: Scene, place: string, many: number): Scalar[] {
  const { items, kind } = sourceValue(source, scene, place);
  if (kind === "float" && items.length === 1) return Array<Scalar>(many).fill(toF32(items[0]));
  if (kind === "float" && items.length === many) return items.map(toF32);
  const given = `${items.length} ${kind === "float" ? "numbers" : "conditions"}`;
  throw badTerm(place, `it gives ${given}; it is one number${many > 1 ? `, or ${many}` : ""}`, "term-shape");
}
