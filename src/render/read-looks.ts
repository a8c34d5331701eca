// reads textures, materials and lights out of MuJoCo's model
import type { copyArray, MjModel } from "../model/mujoco.ts";
import { PLAIN, type Scene, type SceneLight, type Skin, type Three } from "./scene.ts";
import { textureOf, type Texture } from "./textures.ts";

type Read = (name: string) => ReturnType<typeof copyArray>;

/** mjtTexture, mjtTextureRole and mjtLightType. */
const IMAGE = 0;
const SKYBOX = 2;
const [ROLES, RGB, RGBA] = [10, 1, 8];
const LIGHTS = ["spot", "directional", "point"] as const;
/** mjVisual.headlight by itself. */
const USUAL = { ambient: 0.1, diffuse: 0.4 };

const row = (values: ArrayLike<number>, id: number, width: number): number[] =>
  Array.from({ length: width }, (_, i) => values[id * width + i]);
const three = (values: ArrayLike<number>, id: number) => row(values, id, 3) as unknown as Three;

/** The textures that are used, where each of the model's is among them (-1 if it is not), and the first skybox. */
export function readTextures(
  read: Read,
  ntex: number,
): { textures: Texture[]; places: readonly number[]; sky: number } {
  const textures: Texture[] = [];
  let sky = -1;
  const used = new Set(read("mat_texid"));
  const places = Array.from({ length: ntex }, (_, t) => {
    const type = read("tex_type")[t];
    if (type === SKYBOX ? sky >= 0 : !used.has(t)) return -1;
    const [width, height, channels, from] = ["tex_width", "tex_height", "tex_nchannel", "tex_adr"].map(
      (name) => read(name)[t],
    );
    const data = (read("tex_data") as Uint8Array).subarray(from, from + width * height * channels);
    const place = textures.push(textureOf(type === IMAGE ? "image" : "cube", width, height, channels, data)) - 1;
    if (type === SKYBOX) sky = place;
    return place;
  });
  return { textures, places, sky };
}

/** What a geom of a material and size is made of. Coordinates are those of MuJoCo's renderer. */
export function readSkins(
  read: Read,
  places: readonly number[],
  textures: readonly Texture[],
  uniform: Uint8Array,
): (material: number, size: readonly number[], hasCoordinates: boolean) => Skin {
  return (material, size, hasCoordinates) => {
    if (material < 0) return PLAIN;
    const of = (role: number) => read("mat_texid")[ROLES * material + role];
    const id = of(RGB) >= 0 ? of(RGB) : of(RGBA);
    const texture = id < 0 ? -1 : places[id];
    const repeat = row(read("mat_texrepeat"), material, 2);
    const over = (k: number) => (0.5 * repeat[k]) / (uniform[material] || !(size[k] > 0) ? 1 : size[k]);
    const isCube = texture >= 0 && textures[texture].kind === "cube";
    const scale = isCube ? [uniform[material], 0] : hasCoordinates ? [0, 0] : [over(0), over(1)];
    return {
      texture,
      scale: [scale[0], scale[1]],
      specular: read("mat_specular")[material],
      shininess: read("mat_shininess")[material],
      emission: read("mat_emission")[material],
    };
  };
}

/** Lights that are on, and the headlight. */
export function readLights(
  read: Read,
  model: MjModel,
  castshadow: Uint8Array,
  active: Uint8Array,
): Pick<Scene, "lights" | "hasLights" | "headlight"> {
  const lights = Array.from({ length: model.nlight }, (_, id): SceneLight | undefined => {
    const type = LIGHTS[read("light_type")[id]];
    // a light that is a picture of its surroundings is not drawn
    if (!active[id] || type === undefined) return undefined;
    return {
      id,
      type,
      ambient: three(read("light_ambient"), id),
      diffuse: three(read("light_diffuse"), id),
      specular: three(read("light_specular"), id),
      attenuation: three(read("light_attenuation"), id),
      cutoff: read("light_cutoff")[id],
      exponent: read("light_exponent")[id],
      casts: castshadow[id] !== 0,
    };
  });
  const { headlight } = model.vis;
  const [ambient, diffuse] = [headlight.ambient, headlight.diffuse].map((of) => three(of as ArrayLike<number>, 0));
  const isActive = headlight.active !== 0;
  const isNear = (a: number, b: number) => Math.abs(a - b) < 1e-6;
  const isUsual =
    isActive && ambient.every((x) => isNear(x, USUAL.ambient)) && diffuse.every((x) => isNear(x, USUAL.diffuse));
  const light = ambient.map((x, k) => x + diffuse[k] / 2) as unknown as Three;
  return {
    lights: lights.filter((each) => each !== undefined),
    hasLights: model.nlight > 0,
    headlight: { isActive, isUsual, light },
  };
}
