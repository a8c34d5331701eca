// what lights a picture: the lights of the model where they are now, or a sun of our own
import { lightProjection, spotProjection, type Point } from "./camera.ts";
import type { LightConstants } from "./painter-pipelines.ts";
import { LIGHT_FLOATS, type Scene, type SceneLight, type Three } from "./scene.ts";

/** Of the shader: lights, and of these such that cast shadows. */
export const MOST_LIGHTS = 8;
export const MOST_SHADOWS = 4;

/** A light where it is. */
interface Light extends Omit<SceneLight, "id" | "ambient"> {
  readonly position: Point;
  /** Where it shines, unit. */
  readonly direction: Point;
}

/** All light of a picture. Colours are linear: squares of those that are shown. */
export interface Lighting {
  readonly lights: readonly Light[];
  /** From everywhere, below and above. */
  readonly low: Three;
  readonly high: Three;
  /** What is far away fades into. */
  readonly haze: Three;
  /** The texture that is seen where nothing else is; -1 for the haze. */
  readonly sky: number;
}

const LOW: Three = [0.26, 0.24, 0.22];
const HIGH: Three = [0.46, 0.52, 0.6];
const HAZE: Three = [0.55, 0.68, 0.8];
const SUN: Light = {
  type: "directional",
  position: [0, 0, 0],
  direction: [-0.371, 0.29, -0.882],
  diffuse: [0.85, 0.82, 0.76],
  specular: [0.6, 0.6, 0.6],
  attenuation: [1, 0, 0],
  cutoff: 180,
  exponent: 0,
  casts: true,
};
/** What MuJoCo's default headlight comes to: ambient, and half of its diffuse light. */
const HEADLIGHT = 0.3;
/** What remains of the light from everywhere without a headlight. */
const DIM = 0.35;

/** Light without a model's: a sun and a sky. */
export const OWN_LIGHT: Lighting = { lights: [SUN], low: LOW, high: HIGH, haze: HAZE, sky: -1 };

const mean = ([r, g, b]: readonly number[]): number => (r + g + b) / 3;

/**
 * The light of a model. Its headlight, which moves with the eye, stands for light from everywhere. In a grid of worlds
 * lights are far away: those of one world would leave the others in the dark.
 */
export function lightOf(scene: Scene, poses: Float32Array, worlds: number): Lighting {
  const { headlight, sky, center, hasLights } = scene;
  const haze = sky < 0 ? HAZE : scene.haze;
  if (!hasLights && sky < 0 && headlight.isUsual) return OWN_LIGHT;
  const strength = headlight.isActive ? Math.sqrt(Math.max(0, mean(headlight.light) / HEADLIGHT)) : DIM;
  const ambient = scene.lights.reduce((sum, { ambient: a }) => sum + mean(a), 0);
  const scaled = (of: Three) => of.map((x) => x * Math.max(0.1, Math.min(1.6, strength + ambient))) as unknown as Three;
  const lights = scene.lights.slice(0, MOST_LIGHTS).map(({ id, ...light }): Light => {
    const [x, y, z, ...along] = poses.subarray(LIGHT_FLOATS * id, LIGHT_FLOATS * (id + 1));
    const position: Point = [x, y, z];
    const direction = unit(light.type === "point" ? center.map((c, i) => c - position[i]) : along);
    const isFar = worlds > 1 || light.type === "directional";
    return { ...light, position, direction, type: isFar ? "directional" : light.type };
  });
  const lit = hasLights || !headlight.isActive ? lights : [SUN];
  return { lights: lit, low: scaled(LOW), high: scaled(HIGH), haze, sky };
}

function unit(v: readonly number[]): Point {
  const length = Math.hypot(...v);
  return length > 0 && Number.isFinite(length) ? [v[0] / length, v[1] / length, v[2] / length] : [0, 0, -1];
}

/** Floats of `Light` in shaders/render/scene.wgsl. */
const FLOATS = 40;

/** What casts shadows: spheres as x, y, z, radius. */
export type Casters = readonly (readonly [number, number, number, number])[];

/** Lights as the shader reads them, and which of them cast shadows. `around`: centre of what is lit, within `reach` (m). */
export function packLights(
  lights: readonly Light[],
  casters: Casters | undefined,
  around: Point,
  reach: number,
): { readonly floats: Float32Array; readonly casting: readonly number[]; readonly constants: LightConstants } {
  const floats = new Float32Array(FLOATS * MOST_LIGHTS);
  const casting: number[] = [];
  lights.forEach((light, i) => {
    const { position, direction, diffuse, specular, attenuation, cutoff, exponent } = light;
    const isNear = light.type !== "directional";
    const isCone = light.type === "spot" && cutoff < 90;
    const casts = light.casts && light.type !== "point" && (!isNear || isCone) && casting.length < MOST_SHADOWS;
    const at = floats.subarray(FLOATS * i, FLOATS * (i + 1));
    let bounds = [1, 1, 0, 0];
    let bias = 0.0015;
    if (casts) {
      const far = Math.hypot(...around.map((x, k) => x - position[k]));
      at.set(
        isNear
          ? spotProjection(position, direction, cutoff, NEAREST * far, far + 4 * reach)
          : lightProjection([-direction[0], -direction[1], -direction[2]], around, reach),
      );
      // depths of a perspective grow denser: as much of a metre as without one
      if (isNear) bias = (0.006 * reach * NEAREST) / far;
      bounds = isNear || casters === undefined ? [0, 0, 1, 1] : boundsOf(at, casters, reach);
    }
    at.set([...position, Number(isNear), ...direction, isCone ? Math.cos((cutoff * Math.PI) / 180) : -2], 16);
    at.set([...diffuse, isCone ? exponent : 0, ...specular, casts ? casting.length : 0], 24);
    at.set([...attenuation, bias, ...bounds], 32);
    if (casts) casting.push(i);
  });
  const near = bitsOf(lights.flatMap(({ type }, i) => (type === "directional" ? [] : [i])));
  return { floats, casting, constants: { lights: lights.length, near, casting: bitsOf(casting) } };
}

const bitsOf = (places: readonly number[]): number => places.reduce((bits, place) => bits | (1 << place), 0);

/** A map of a spot light begins at this share of the distance of what is lit. */
const NEAREST = 0.1;

/** The rectangle of a map in which something is, with room for the edges of shadows. */
function boundsOf(view: Float32Array, casters: Casters, reach: number): number[] {
  const [low, high] = [
    [1, 1],
    [0, 0],
  ];
  for (const [x, y, z, radius] of casters) {
    const r = (1.05 * radius) / (2 * reach) + 0.005;
    for (const k of [0, 1]) {
      const clip = view[k] * x + view[4 + k] * y + view[8 + k] * z + view[12 + k];
      const uv = 0.5 + (k === 0 ? 0.5 : -0.5) * clip;
      low[k] = Math.max(0, Math.min(low[k], uv - r));
      high[k] = Math.min(1, Math.max(high[k], uv + r));
    }
  }
  return [...low, ...high];
}
