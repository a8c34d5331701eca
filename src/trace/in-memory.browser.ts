// in pages no text is kept short for a driver of their own: what compiles there is the browser's
import type { Dialect } from "./text.ts";

export interface InMemory {
  readonly declared: readonly string[];
  readonly dialect: Dialect;
}

export const inMemory = (): InMemory | undefined => undefined;
