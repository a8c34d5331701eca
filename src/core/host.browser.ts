// what the library asks of the machine that it runs on: a page or a worker of a browser

export const env: Readonly<Record<string, string | undefined>> = {};

/** Two copies come from two addresses. */
export const PACKAGE_FOLDER: string = import.meta.url;

export const warn = (text: string, code: string, type = "Warning"): void => console.warn(`[${code}] ${type}: ${text}`);

export const say = (text: string): void => console.warn(text);

export const noThreads = (): string | undefined =>
  globalThis.crossOriginIsolated
    ? undefined
    : "threads share memory in a page that is isolated alone: serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp";

export const defaultThreads = (): number => (noThreads() === undefined ? (navigator.hardwareConcurrency ?? 1) : 1);

export const isThere = (_path: string): boolean => false;

export const waitLoosely = (call: () => void, ms: number): ReturnType<typeof setTimeout> => setTimeout(call, ms);

// a page never ends by itself
export const whenIdle =
  (_call: () => void): (() => void) =>
  () => {};

export const later = (call: () => void): void => void setTimeout(call, 0);
