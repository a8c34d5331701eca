// numbers of the chosen world that can be plotted beside what its task tells: contacts, and each joint's qpos and qvel
import { CONTACT_FLOATS } from "../src/render/show.ts";
import type { Facts, Frame } from "../src/view/messages.ts";
import { checkbox, get } from "./dom.ts";

/** Entries of qpos and of qvel of a joint. */
export const SIZES = { free: [7, 6], ball: [4, 3], slide: [1, 1], hinge: [1, 1] } as const;

type Read = (frame: Frame, world: number) => number | undefined;

/** What there is to choose, by name. */
function readersOf({ scene: { joints } }: Facts): Map<string, Read> {
  const forces = ({ poses: { contacts } }: Frame) => {
    const norms = [];
    for (let at = 0; at < contacts.length; at += CONTACT_FLOATS)
      norms.push(Math.hypot(contacts[at + 7], contacts[at + 8], contacts[at + 9]));
    return norms;
  };
  const out = new Map<string, Read>([
    ["contacts", (frame) => frame.poses.contacts.length / CONTACT_FLOATS],
    ["contact force", (frame) => forces(frame).reduce((sum, x) => sum + x, 0)],
  ]);
  const next = { qpos: 0, qvel: 0 };
  joints.forEach(({ name, type }, id) => {
    (["qpos", "qvel"] as const).forEach((field, which) => {
      for (let k = 0; k < SIZES[type][which]; k++) {
        const at = next[field]++;
        const entry = SIZES[type][which] > 1 ? ` ${k}` : "";
        const read: Read = (frame, world) => frame.facts.values?.find((of) => of.world === world)?.[field][at];
        out.set(`${field} ${name || `joint ${id}`}${entry}`, read);
      }
    });
  });
  return out;
}

export class Fields {
  readonly #chosen = new Set<string>();
  readonly #readers: ReadonlyMap<string, Read>;

  /** Boxes to check in the page; `onChange` is told what is chosen now and what no longer is. */
  constructor(facts: Facts, onChange: (name: string, isChosen: boolean) => void) {
    this.#readers = readersOf(facts);
    [...this.#readers.keys()].forEach((name, i) => {
      checkbox(get("fields"), `field-${i}`, name, false, (isChosen) => {
        if (isChosen) this.#chosen.add(name);
        else this.#chosen.delete(name);
        onChange(name, isChosen);
      });
    });
  }

  /** Whether contacts are to be asked for. */
  get touches(): boolean {
    return this.#chosen.has("contacts") || this.#chosen.has("contact force");
  }

  /** The chosen numbers of a frame. */
  of(frame: Frame, world: number): Record<string, number> {
    const known = [...this.#chosen].map((name) => [name, this.#readers.get(name)?.(frame, world)] as const);
    return Object.fromEntries(known.filter((each): each is [string, number] => each[1] !== undefined));
  }
}
