// what a page and the worker that compiles its models tell each other
import { CorralError } from "../core/errors.ts";
import type { Model } from "./model-data.ts";
import type { ModelSource } from "./source.ts";

export interface CompileRequest {
  readonly id: number;
  readonly source: ModelSource;
  /** What messages call it. */
  readonly name?: string;
}

/** An error as it is posted: of errors only their texts are. */
export interface PostedError {
  readonly code?: string;
  readonly text: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface CompileAnswer {
  readonly id: number;
  readonly model?: Model;
  readonly error?: PostedError;
}

export const postedError = (error: unknown): PostedError =>
  error instanceof CorralError
    ? { code: error.code, text: error.message.slice(error.code.length + 3), details: error.details }
    : { text: String(error) };

export const errorOf = ({ code, text, details }: PostedError): Error =>
  code === undefined ? new Error(text) : new CorralError(code, text, { ...details });
