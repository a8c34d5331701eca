// calls of vector environments recorded from Gymnasium, and corral's answers in the same form
import type { Infos } from "../../src/env/index.ts";

/** An array as it was recorded. */
interface Column {
  readonly data: readonly (number | boolean)[];
}
/** A call of a vector environment of Gymnasium, and what came back. */
export interface Call {
  readonly call: "reset" | "step";
  readonly seed: number | null;
  readonly reset_mask: boolean[] | null;
  readonly actions: (number | number[])[];
  readonly observations: { readonly data: readonly number[][] };
  readonly rewards: Column;
  readonly terminated: Column;
  readonly truncated: Column;
  readonly infos: Record<string, never>;
}
/** Arrays and masks of a call's infos in Gymnasium's form, without what only corral has. */
export function plainInfos(infos: Infos, keys: readonly string[]): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of keys) {
    const column = infos.get(key);
    if (!column) continue;
    out[key] = [...column.values];
    out[`_${key}`] = [...column.mask].map(Boolean);
  }
  const { episode, final_obs, final_info } = infos;
  if (episode) {
    out.episode = { r: [...episode.r], l: [...episode.l] };
    out._episode = [...episode.mask].map(Boolean);
  }
  if (final_obs) {
    const width = final_obs.values.length / final_obs.mask.length;
    out.final_obs = [...final_obs.mask].map((m, w) =>
      m ? Array.from(final_obs.values.subarray(w * width, (w + 1) * width)) : null,
    );
    out._final_obs = [...final_obs.mask].map(Boolean);
  }
  if (final_info) {
    out.final_info = plainInfos(final_info, keys);
    out._final_info = out._final_obs;
  }
  return out;
}

/** The recorded infos in the same form; statistics only if they were recorded. */
export function expectedInfos(infos: Record<string, unknown>): Record<string, unknown> {
  const plain = (value: unknown): unknown => {
    if (value === null || typeof value !== "object") return value;
    if ("data" in value) return (value.data as unknown[]).map(plain);
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  };
  return plain(infos) as Record<string, unknown>;
}

/** Rows of `width` numbers. */
export const rows = (values: ArrayLike<number>, width: number) =>
  Array.from({ length: values.length / width }, (_, w) =>
    Array.prototype.slice.call(values, w * width, (w + 1) * width),
  );
