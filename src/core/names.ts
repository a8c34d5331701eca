// names that a misspelt one may have meant
import { listed } from "./show.ts";

/** Edits (insert, delete, replace, swap neighbours) that turn a into b. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(rows[i - 1][j] + 1, current[j - 1] + 1, rows[i - 1][j - 1] + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, rows[i - 2][j - 2] + 1);
      current.push(best);
    }
    rows.push(current);
  }
  return rows[a.length][b.length];
}

/** Whether a name fits a pattern, in which * stands for any text. */
export function fits(name: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(name);
}

/** The candidates that are most like a name, best first, at most three; empty if nothing is alike. */
export function nearest(name: string, candidates: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const bound = Math.ceil(Math.max(wanted.length, 3) / 3);
  const scored = candidates.map((candidate, order) => {
    const other = candidate.toLowerCase();
    const contains = wanted.length > 2 && (other.includes(wanted) || wanted.includes(other));
    const edits = distance(wanted, other);
    return { candidate, order, score: contains ? Math.min(edits, bound) : edits };
  });
  return scored
    .filter((s) => s.candidate !== "" && s.score <= bound)
    .sort((a, b) => a.score - b.score || a.order - b.order)
    .slice(0, 3)
    .map((s) => s.candidate);
}

const MOST_NAMED = 12;

/** The end of a message about a name that is not known: the nearest ones, or what there is. */
export function alternatives(name: string, known: readonly string[]): { hint: string; nearest: string[] } {
  const near = nearest(name, known);
  if (near.length > 0) return { hint: `nearest: ${listed(near)}`, nearest: near };
  const named = known.filter((other) => other !== "");
  const some = listed(named.slice(0, MOST_NAMED)) + (named.length > MOST_NAMED ? ", ..." : "");
  return { hint: named.length > 0 ? `there are: ${some}` : "there are none", nearest: near };
}
