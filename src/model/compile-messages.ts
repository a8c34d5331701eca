// what a page and the worker that compiles its models tell each other
import type { PostedError } from "../core/posted.ts";
import type { Model } from "./model-data.ts";
import type { ModelSource } from "./source.ts";

export interface CompileRequest {
  readonly id: number;
  readonly source: ModelSource;
  /** What messages call it. */
  readonly name?: string;
}

export interface CompileAnswer {
  readonly id: number;
  readonly model?: Model;
  readonly error?: PostedError;
}
