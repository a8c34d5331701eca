// what may be done about a model that MuJoCo does not compile, where its own words leave that open
import type { FileTree } from "./files.ts";
import { placeOf } from "./urdf.ts";

const endingOf = (file: string): string => /\.[^./]*$/.exec(file)?.[0] ?? "";

/** Meshes that MuJoCo has no reader for, as far as robots come with them. */
const UNREAD = /\.(dae|glb|gltf|ply|fbx|3mf|step|stp|wrl|3ds)$/i;

/** What to do about the format of a file; "" where it is read. */
export function formatRemedy(file: string): string {
  if (!UNREAD.test(file)) return "";
  return ` MuJoCo does not read ${endingOf(file).toLowerCase()}: convert it to STL or OBJ, and name that (corral new-task converts .dae and .ply of a URDF).`;
}

/** What to do about a missing file that is there in another case of its ending; "" where it is not. */
export function caseRemedy(missing: string, file: string, tree: FileTree): string {
  const ending = endingOf(missing);
  const there = [ending.toLowerCase(), ending.toUpperCase()].find(
    (other) =>
      other !== ending &&
      placeOf(`${missing.slice(0, missing.length - ending.length)}${other}`, file, tree) !== undefined,
  );
  return there === undefined ? "" : ` There is one that ends in ${there}: here the case of letters counts.`;
}

/** What does the work of a plugin of MuJoCo's, by part of its name. */
const INSTEAD: readonly (readonly [part: string, remedy: string])[] = [
  ["cable", ` What bends and twists it is then <joint kind="main" stiffness="..." damping="..."/> in its <composite>.`],
  ["pid", " <position kp=... kv=.../> is a controller without the integral."],
  ["sdf", " A mesh of the same shape collides as its hull."],
];

/** What to add to MuJoCo's own text on a model; "" where it says all. */
export function compileRemedy(said: string, xml: string): string {
  const unread = /no decoder found for mesh file '([^']*)'/.exec(said)?.[1];
  if (unread !== undefined) return formatRemedy(unread).replace(" ", "\n");
  if (/decoder failed for mesh file '[^']*\.stl'[^]*(perhaps this is an ASCII file|invalid header)/i.test(said))
    return "\nMuJoCo reads binary STL alone: save a text as that, or as OBJ; a file that is binary was cut short.";
  const plugin = /plugin (\S+) not found/.exec(said)?.[1];
  if (plugin !== undefined) {
    const instead = INSTEAD.find(([part]) => plugin.includes(part))?.[1] ?? "";
    return `\nMuJoCo's WebAssembly build has no plugins: delete <extension> and each <plugin> of ${plugin}.${instead}`;
  }
  if (/Unrecognized XML model type/.test(said)) return "\nModels are MJCF (<mujoco>) or URDF (<robot>).";
  if (/top-level default class 'main' cannot be renamed/.test(said))
    return "\nDelete its class: that is main, wherever it is named.";
  const options = /use 'balanceinertia'/.test(said)
    ? `balanceinertia="true"`
    : /mass and inertia of moving bodies must be larger/.test(said)
      ? `boundmass="1e-3" boundinertia="1e-6"`
      : /inertia must have positive eigenvalues/.test(said)
        ? `inertiafromgeom="true"`
        : "";
  if (options === "") return "";
  const where = /<robot\b/.test(xml)
    ? `<mujoco><compiler ${options}/></mujoco> within <robot>`
    : `<compiler ${options}/>`;
  if (options.startsWith("bound")) return `\nGive it mass and inertia, or a least of both to all bodies: ${where}.`;
  return options.startsWith("inertia")
    ? `\nGive it an inertia, or let MuJoCo infer those of all bodies from their geoms: ${where}.`
    : `\nThat is ${where}.`;
}
