// what passes between a viewer's page and whoever has the worlds: facts once, a frame for each picture, commands. Knows
// neither Node nor a page.
import type { FreeCamera } from "../render/camera.ts";
import type { Scene } from "../render/scene.ts";
import type { Poses } from "../render/show.ts";
import type { RunFacts } from "./run-messages.ts";

/** What a page is sent once. */
export interface Facts {
  readonly title: string;
  readonly kind: "live" | "recording" | "crash";
  readonly worlds: number;
  readonly device: string;
  /** Seconds of a control step. */
  readonly dt: number;
  /** Of what moves in one world, and half of what is shown (m). */
  readonly radius: number;
  readonly reach: number;
  readonly home: FreeCamera;
  /** What may act, and the entries of an action. */
  readonly actors: readonly string[];
  readonly actions: readonly {
    readonly name: string;
    readonly low: number;
    readonly high: number;
    readonly whole: boolean;
  }[];
  readonly keyframes: readonly string[];
  /** Control steps of a recording; 0 where worlds go on. */
  readonly steps: number;
  readonly scene: Scene;
  /** The camera of the model that is looked through at first; without it a free one. */
  readonly camera?: number;
  /** Said above the picture. */
  readonly note?: string;
  /** Worlds that are shown as ghosts, places of worlds that are no grid of their own, and what went wrong. */
  readonly ghosts?: readonly number[];
  readonly places?: readonly number[];
  readonly bad?: {
    readonly world: number;
    readonly body: number;
    /** Of the joint it belongs to, if it is of one. */
    readonly joint?: number;
    readonly step: number;
    readonly text: string;
  };
  readonly timeline?: Timeline;
  /** The run that trains, whose worlds these are. */
  readonly run?: RunFacts;
}

/** Numbers over the steps of what is recorded, and what happened at some of them. */
export interface Timeline {
  readonly lines: readonly {
    readonly name: string;
    /** Drawn by its logarithm. */
    readonly log: boolean;
    /** One for each step; null where it is not known. */
    readonly values: readonly (number | null)[];
  }[];
  readonly marks: readonly { readonly at: number; readonly text: string }[];
}

/** Numbers of a world that are shown for the body pointed at. */
export interface WorldValues {
  readonly world: number;
  readonly qpos: readonly number[];
  readonly qvel: readonly number[];
}

/** What a frame says beside poses. */
export interface FrameFacts {
  /** Grows with each frame. */
  readonly serial: number;
  readonly step: number;
  readonly time: number;
  readonly paused: boolean;
  readonly speed: number;
  readonly actor: string;
  /** Of the world that is looked at, by name. */
  readonly plots: Readonly<Record<string, number>>;
  /** Control steps that can be gone back. */
  readonly back: number;
  readonly said?: string;
  /** Which step this is, in words. */
  readonly at?: string;
  readonly values?: readonly WorldValues[];
}

export interface Frame {
  readonly facts: FrameFacts;
  readonly poses: Poses;
}

/** What a page asks for. */
export interface Command {
  readonly do:
    | "play"
    | "pause"
    | "step"
    | "back"
    | "reset"
    | "speed"
    | "actor"
    | "slider"
    | "drag"
    | "release"
    | "keyframe"
    | "seek"
    | "world"
    | "contacts";
  /** Speed, place of a keyframe, step, world, value of a slider; of the actor its place in `actors`. */
  readonly value?: number;
  /** Entry of an action. */
  readonly index?: number;
  readonly world?: number;
  readonly body?: number;
  /** In the frame of the body, and in the world. */
  readonly point?: readonly number[];
  readonly target?: readonly number[];
}

const PARTS = ["bodies", "cameras", "lights", "tendons", "contacts"] as const;

/** A frame as bytes: length of the JSON, JSON, then floats, little-endian. */
export function encodeFrame({ facts, poses }: Frame): Uint8Array<ArrayBuffer> {
  const sizes = PARTS.map((name) => poses[name].length);
  const json = new TextEncoder().encode(jsonOf({ facts, worlds: poses.worlds, sizes }));
  const start = Math.ceil((4 + json.length) / 4) * 4;
  const out = new Uint8Array(start + 4 * sizes.reduce((a, b) => a + b, 0)).fill(0x20, 4, start);
  new DataView(out.buffer).setUint32(0, start - 4, true);
  out.set(json, 4);
  let at = start;
  for (const name of PARTS) {
    const values = poses[name];
    out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
    at += values.byteLength;
  }
  return out;
}

/** Undoes `encodeFrame`; `at` begins at a multiple of four. */
export function decodeFrame(buffer: ArrayBuffer, at = 0): Frame {
  const length = new DataView(buffer).getUint32(at, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, at + 4, length));
  const { facts, worlds, sizes } = fromJson(text) as {
    facts: FrameFacts;
    worlds: number;
    sizes: number[];
  };
  let from = at + 4 + length;
  const arrays = PARTS.map((name, i) => {
    const values = new Float32Array(buffer, from, sizes[i]);
    from += values.byteLength;
    return [name, values];
  });
  return { facts, poses: { worlds, ...(Object.fromEntries(arrays) as Omit<Poses, "worlds">) } };
}

/** Typed arrays in JSON as base64, and numbers that JSON does not have. */
interface Packed {
  readonly f32?: string;
  readonly u32?: string;
  readonly number?: string;
}

const toBase64 = (bytes: Uint8Array): string => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
};
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Plain data as JSON text, with nothing in it that would end a script of a page. */
export const jsonOf = (data: unknown): string =>
  JSON.stringify(data, (_, value: unknown) => {
    const bytes = (of: Float32Array | Uint32Array) => toBase64(new Uint8Array(of.buffer, of.byteOffset, of.byteLength));
    if (value instanceof Float32Array) return { f32: bytes(value) } satisfies Packed;
    if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) } satisfies Packed;
    return value instanceof Uint32Array ? ({ u32: bytes(value) } satisfies Packed) : value;
  }).replaceAll("<", "\\u003c");

/** Undoes `jsonOf`. */
export const fromJson = (json: string): unknown =>
  JSON.parse(json, (_, value: unknown) => {
    const { f32, u32, number } = (value ?? {}) as Packed;
    if (typeof f32 === "string") return new Float32Array(fromBase64(f32).buffer);
    if (typeof number === "string") return Number(number);
    return typeof u32 === "string" ? new Uint32Array(fromBase64(u32).buffer) : value;
  }) as unknown;
