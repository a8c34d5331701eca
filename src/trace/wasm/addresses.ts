// addresses of lanes that several reads or writes share, while the block that computed them lasts
import type { Code } from "./code.ts";

interface Scope {
  readonly known: Map<string, readonly number[]>;
  readonly held: number[];
}

export class Addresses {
  readonly #code: Code;
  /** Of the blocks around a place, the innermost last. */
  readonly #scopes: Scope[] = [];

  constructor(code: Code) {
    this.#code = code;
  }

  /** Begins a block; what it returns ends it. */
  enter(): () => void {
    const scope: Scope = { known: new Map(), held: [] };
    this.#scopes.push(scope);
    return () => {
      this.#scopes.pop();
      this.#code.release(...scope.held);
    };
  }

  /** Locals that an enclosing block has computed; of writes only this block, whose lanes they are. */
  find(key: string): readonly number[] | undefined {
    if (key.startsWith("put")) return this.#scopes.at(-1)!.known.get(key);
    return this.#scopes.findLast(({ known }) => known.has(key))?.known.get(key);
  }

  keep(key: string, locals: readonly number[]): void {
    const { known, held } = this.#scopes.at(-1)!;
    known.set(key, locals);
    held.push(...locals);
  }

  /** Lanes have left: where they would write is no longer known. */
  forgetPuts(): void {
    for (const { known } of this.#scopes) for (const key of known.keys()) if (key.startsWith("put")) known.delete(key);
  }
}
