// what the demo's page and the worker that has its worlds tell each other

/** What is shown: Ants by policies that were trained ever longer, or a model with its files. */
export interface Opening {
  readonly worlds: number;
  readonly device: "wasm" | "gpu";
  /** Policies as exported, and which of them acts at first. */
  readonly policies?: readonly ArrayBuffer[];
  readonly follow?: number;
  /** An MJCF or URDF, or a zip of one with its files. */
  readonly model?: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> };
  /** Over which the picture asks for frames. */
  readonly port: MessagePort;
}

export type ToWorker = { readonly open: Opening } | { readonly follow: number } | { readonly push: true };

/** Steps of the environments in a second: those that are shown, and what stepping without a pause would give. */
export interface Rate {
  readonly shown: number;
  readonly most: number;
}

export type FromWorker = { readonly fault: string } | { readonly rate: Rate };

/** From the picture: a command, or that it waits for the frame after one. */
export type ToSession = { readonly act: unknown } | { readonly after: number };
export type FromSession =
  | { readonly facts: string; readonly shader: string }
  | { readonly frame: ArrayBuffer }
  | { readonly said: string };
