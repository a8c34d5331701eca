// how many copies an MJCF asks for, before MuJoCo makes them: one line of text could keep it busy forever
import { inLine } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";

/** Copies of all elements that one file asks for. */
const MOST = 2 ** 16;

const TAG = /<!--[\s\S]*?-->|<(\/?)(replicate|composite|flexcomp)\b((?:[^>"']|"[^"]*"|'[^']*')*)>/g;
const COUNT = /\bcount\s*=\s*(?:"([^"]*)"|'([^']*)')/;

/** Product of what a count says; malformed numbers are left to MuJoCo to refuse. */
function copiesOf(attributes: string): number {
  const [, double, single] = COUNT.exec(attributes) ?? [];
  const numbers = (double ?? single ?? "1").trim().split(/\s+/).map(Number);
  return numbers.reduce((product, n) => product * (n >= 1 ? n : 1), 1);
}

/** Throws `too-many-copies` if <replicate>, <composite> and <flexcomp>, within each other, ask for more than MuJoCo makes in seconds. */
export function assertCopies(xml: string, name: string): void {
  const within: number[] = [];
  let copies = 0;
  for (const [tag, closes, , attributes] of xml.matchAll(TAG)) {
    if (attributes === undefined) continue;
    if (closes === "/") {
      within.pop();
      continue;
    }
    const product = (within.at(-1) ?? 1) * copiesOf(attributes);
    copies += product;
    if (copies > MOST)
      throw new CorralError(
        "too-many-copies",
        `${name} asks for ${copies} copies in ${inLine(tag.slice(0, 80))}; at most ${MOST} are made. Lower the count.`,
        { copies, most: MOST },
      );
    if (!attributes.endsWith("/")) within.push(product);
  }
}
