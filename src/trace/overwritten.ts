// assignments whose value nothing can read: a later one in the same block comes first
import type { Block, Statement, VarRef } from "./nodes.ts";

type IsLive = { isLive(statement: Statement): boolean };

/** What of a block matters here: reads and assignments of variables, and what may skip some of them. */
type Step = Statement | { readonly kind: "blocks"; readonly loops: boolean; readonly blocks: readonly Sketch[] };
type Sketch = readonly Step[];

/** The steps of a block and of those nested in it. */
export function sketch(block: Block): Sketch {
  const steps: Step[] = [];
  for (const s of block.statements) {
    if (s.kind === "let" ? s.node.op === "load" : s.kind === "set" || s.kind === "break") steps.push(s);
    else if (s.kind === "when") {
      steps.push({ kind: "blocks", loops: false, blocks: [sketch(s.then), sketch(s.otherwise)] });
    } else if (s.kind === "loop") steps.push({ kind: "blocks", loops: true, blocks: [sketch(s.block)] });
  }
  return steps;
}

/** The assignments of a block and those nested in it that are overwritten before anything live reads them. */
export function overwritten(root: Sketch, live: IsLive): ReadonlySet<Statement> {
  const dead = new Set<Statement>();
  // the last assignment of each variable that nothing has read since, in the blocks around this point, innermost last
  const unread: Map<VarRef, Statement>[] = [];
  /** Whether a block may leave the loop around it. */
  const visit = (steps: Sketch): boolean => {
    let leaves = false;
    const own = new Map<VarRef, Statement>();
    unread.push(own);
    for (const s of steps) {
      if (s.kind === "let") {
        const ref = s.node.source as VarRef;
        if (live.isLive(s)) for (const block of unread) block.delete(ref);
      } else if (s.kind === "set") {
        const before = own.get(s.target);
        if (before) dead.add(before);
        own.set(s.target, s);
      } else if (s.kind === "break") {
        leaves = true;
        own.clear();
      } else if (s.kind === "blocks") {
        const leave = s.blocks.map(visit).some(Boolean);
        // the breaks of a loop end itself
        if (leave && !s.loops) {
          leaves = true;
          own.clear();
        }
      }
    }
    unread.pop();
    return leaves;
  };
  visit(root);
  return dead;
}
