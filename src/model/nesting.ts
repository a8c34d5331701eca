// how deep an MJCF nests its elements, before MuJoCo follows them: its WebAssembly build has a small stack, and no guard at
// its end, so that it crashes, or runs forever
import { CorralError } from "../core/errors.ts";

/** Elements within each other, <mujoco> among them. A chain of 110 bodies is well, one of 130 overflows. */
const MOST = 112;

/** A tag of a text, with "/" where it closes, its name, and its attributes; a comment or raw text, which have no name. */
export const TAG = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<(\/?)([A-Za-z][\w.-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/g;

/** Throws `mujoco-memory` if elements are within each other deeper than MuJoCo's WebAssembly build can follow. */
export function assertNesting(xml: string, name: string): void {
  let depth = 0;
  let deepest = 0;
  for (const [, closes, element, attributes] of xml.matchAll(TAG)) {
    if (element === undefined || attributes?.endsWith("/")) continue;
    depth += closes === "/" ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  if (deepest <= MOST) return;
  throw new CorralError(
    "mujoco-memory",
    `${name} nests elements ${deepest} deep; MuJoCo's WebAssembly build has a stack for ${MOST}. Cut its chain of bodies into shorter ones, held together by <equality>.`,
    { deepest, most: MOST },
  );
}
