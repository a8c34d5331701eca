/**
 * An error with a stable code. Its message states the value, the bound and the remedy, printed as `[code] text`.
 * Every live object is as it was before the call that threw it.
 */
export class CorralError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    text: string,
    details: Record<string, unknown> = {},
    options?: ErrorOptions,
  ) {
    super(`[${code}] ${text}`, options);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }
}
