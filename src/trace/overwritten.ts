// assignments whose value nothing can read: a later one in the same block comes first
import type { Block, Statement, VarRef } from "./graph.ts";

type IsLive = { isLive(statement: Statement): boolean };

type Assignment = Extract<Statement, { kind: "set" }>;

const readBy = (s: Statement, live: IsLive): VarRef | undefined =>
  s.kind === "let" && s.node.op === "load" && live.isLive(s) ? (s.node.source as VarRef) : undefined;

/** What a block, with those nested in it, may do to what comes after it. */
interface Effect {
  readonly reads: ReadonlySet<VarRef>;
  /** Whether it may leave the loop around it. */
  readonly leaves: boolean;
}

/** The assignments of a block and those nested in it that are overwritten before anything live reads them. */
export function overwritten(root: Block, live: IsLive): ReadonlySet<Statement> {
  const dead = new Set<Statement>();
  const visit = (block: Block): Effect => {
    const reads = new Set<VarRef>();
    let leaves = false;
    // the last assignment of each variable that nothing has read since
    const unread = new Map<VarRef, Assignment>();
    for (const s of block.statements) {
      const read = readBy(s, live);
      if (read) {
        reads.add(read);
        unread.delete(read);
      } else if (s.kind === "set") {
        const before = unread.get(s.target);
        if (before) dead.add(before);
        unread.set(s.target, s);
      } else if (s.kind === "break") {
        leaves = true;
        unread.clear();
      } else if (s.kind === "when" || s.kind === "loop") {
        const blocks = s.kind === "when" ? [s.then, s.otherwise] : [s.block];
        const effects = blocks.map(visit);
        // the breaks of a loop end itself
        if (s.kind === "when" && effects.some((e) => e.leaves)) {
          leaves = true;
          unread.clear();
        }
        for (const e of effects) {
          for (const ref of e.reads) {
            reads.add(ref);
            unread.delete(ref);
          }
        }
      }
    }
    return { reads, leaves };
  };
  visit(root);
  return dead;
}
