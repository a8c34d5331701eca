// assignments whose value nothing can read: a later one in the same block comes first
import type { Block, Statement, VarRef } from "./graph.ts";

type IsLive = { isLive(statement: Statement): boolean };

type Assignment = Extract<Statement, { kind: "set" }>;

const readBy = (s: Statement, live: IsLive): VarRef | undefined =>
  s.kind === "let" && s.node.op === "load" && live.isLive(s) ? (s.node.source as VarRef) : undefined;

/** What the nested blocks of a statement may do to what comes after it. */
interface Effect {
  readonly reads: Set<VarRef>;
  /** Whether they may leave the loop around the statement. */
  leaves: boolean;
}

function effectOf(blocks: readonly Block[], live: IsLive, into: Effect): Effect {
  for (const block of blocks) {
    for (const s of block.statements) {
      const read = readBy(s, live);
      if (read) into.reads.add(read);
      else if (s.kind === "break") into.leaves = true;
      else if (s.kind === "when") effectOf([s.then, s.otherwise], live, into);
      // its breaks end itself
      else if (s.kind === "loop") effectOf([s.block], live, { reads: into.reads, leaves: false });
    }
  }
  return into;
}

/** The assignments of a block and those nested in it that are overwritten before anything live reads them. */
export function overwritten(root: Block, live: IsLive): ReadonlySet<Statement> {
  const dead = new Set<Statement>();
  const visit = (block: Block): void => {
    // the last assignment of each variable that nothing has read since
    const unread = new Map<VarRef, Assignment>();
    for (const s of block.statements) {
      const read = readBy(s, live);
      if (read) unread.delete(read);
      else if (s.kind === "set") {
        const before = unread.get(s.target);
        if (before) dead.add(before);
        unread.set(s.target, s);
      } else if (s.kind === "break") unread.clear();
      else if (s.kind === "when" || s.kind === "loop") {
        const blocks = s.kind === "when" ? [s.then, s.otherwise] : [s.block];
        blocks.forEach(visit);
        const { reads, leaves } = effectOf(blocks, live, { reads: new Set(), leaves: false });
        if (leaves && s.kind === "when") unread.clear();
        for (const ref of reads) unread.delete(ref);
      }
    }
  };
  visit(root);
  return dead;
}
