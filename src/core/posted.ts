// what threads, and workers of a page, post to each other
import { CorralError } from "./errors.ts";

/** What is used of a thread's message port; the published types name none of Node's. */
export interface ThreadPort<Answer> {
  postMessage(message: Answer): void;
  on(event: "message", listener: (request: any) => void): unknown;
}

/** An error as it is posted: of errors only their texts are. */
export interface PostedError {
  readonly code?: string;
  readonly text: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export const postedError = (error: unknown): PostedError =>
  error instanceof CorralError
    ? { code: error.code, text: error.message.slice(error.code.length + 3), details: error.details }
    : { text: String(error) };

export const errorOf = ({ code, text, details }: PostedError): Error =>
  code === undefined ? new Error(text) : new CorralError(code, text, { ...details });
