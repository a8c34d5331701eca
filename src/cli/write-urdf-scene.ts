// the scene of a URDF: written, looked at by MuJoCo, and written again with what that asks for
import { CorralError } from "../core/errors.ts";
import { whyThrown } from "../core/returned.ts";
import { inLine } from "../core/show.ts";
import { loadModel, type Model } from "../model/model.ts";
import { bentOf, toldOf } from "../scaffold/bent.ts";
import { flies, limbEnds, rollsOn } from "../scaffold/feet.ts";
import { overlapsOf } from "../scaffold/overlaps.ts";
import { floatingBody } from "../scaffold/planar.ts";
import { loadOf, robotOf, standsOn, type Robot } from "../scaffold/robot.ts";
import { servosIn, standingOn } from "../scaffold/scene-servos.ts";
import { stiffnessFor, toldStiffness } from "../scaffold/standing.ts";
import { isTooWeak } from "../scaffold/too-weak.ts";
import { urdfScene, type SceneOptions } from "../scaffold/urdf-scene.ts";
import type { LoadedUrdf } from "./load-urdf.ts";
import { writeOutput } from "./write-output.ts";

type Urdf = Pick<LoadedUrdf, "model" | "file">;

/** Where the trunk is of what floats by a frame below all of its limbs (m), as of a URDF that begins with the world; undefined of others. */
function trunkAbove({ model, xpos }: Robot): readonly number[] | undefined {
  const base = floatingBody(model);
  if (base === undefined || rollsOn(model, base) || flies(model, base)) return undefined;
  const ends = limbEnds(model, base);
  if (ends.length === 0 || ends.some((end) => xpos[3 * end + 2] < xpos[3 * base + 2])) return undefined;
  const trunk = loadOf(model, base);
  if (trunk === undefined || !(xpos[3 * trunk + 2] > xpos[3 * base + 2])) return undefined;
  return [0, 1, 2].map((k) => xpos[3 * trunk + k] - xpos[3 * base + k]);
}

/** Pairs of links in words. */
const toldOverlaps = (overlaps: readonly (readonly [string, string])[]): string =>
  `Links that lie in one another where it starts do not collide: ${overlaps
    .slice(0, 3)
    .map((pair) => pair.map(inLine).join(" and "))
    .join(", ")}${overlaps.length > 3 ? `, and ${overlaps.length - 3} more` : ""}.`;

/** What MuJoCo cannot do with a scene that it could with the URDF alone, in words for who asked. */
function explained(error: unknown, isFree: boolean): unknown {
  const said = whyThrown(error);
  if (isFree && /mass and inertia of moving bodies/.test(said))
    return new CorralError(
      "no-free-base",
      "the first link of the URDF, and what is fixed to it, has no mass, so it cannot float. Pass --kind reach where it is mounted, or give it an <inertial>.",
      {},
      { cause: error },
    );
  if (/mj_stackAlloc/.test(said))
    return new CorralError(
      "mujoco-memory",
      "links of the URDF lie in one another with more contacts than MuJoCo has memory for. Give them simpler <collision> geometry, or a start in which they are apart.",
      {},
      { cause: error },
    );
  return error;
}

/** The model of a scene that was written, and what the robot got, in words. */
export interface WrittenScene {
  readonly model: Model;
  readonly notes: readonly string[];
  /** Its joints say of so little effort that nothing could hold it; such a scene is not finished. */
  readonly isTooWeak?: boolean;
}

/**
 * Writes the scene of a URDF, `file` from there.
 * @throws CorralError no-free-base, mujoco-memory
 */
export const writeUrdfScene = (name: string, scene: string, urdf: Urdf, isFree: boolean): Promise<WrittenScene> =>
  writeScene(name, scene, urdf, isFree).catch((error: unknown) => {
    throw explained(error, isFree);
  });

async function writeScene(name: string, scene: string, { model, file }: Urdf, isFree: boolean): Promise<WrittenScene> {
  const write = (options: SceneOptions) => {
    writeOutput(scene, urdfScene(name, model, options));
    return loadModel(scene);
  };
  const given = { file, height: isFree ? 0 : undefined };
  const first = await robotOf(await write(given));
  if (isTooWeak(first, isFree)) return { model: first.model, notes: [], isTooWeak: true };
  const trunk = isFree ? trunkAbove(first) : undefined;
  const drawn = { ...given, trunk };
  const whole = trunk ? await robotOf(await write(drawn)) : first;
  const feet = isFree ? standsOn(whole) : undefined;
  const bent = await bentOf(whole.model, feet);
  const posed = { ...drawn, pose: bent?.qpos };
  const robot = bent ? await robotOf(await write(posed)) : whole;
  const overlaps = await overlapsOf(robot.model, robot.qpos);
  const standing = { height: robot.lift, ...standingOn(robot.model, feet ?? [], robot.carries) };
  const free = { ...posed, overlaps, ...(isFree ? standing : {}) };
  const notes = [...(bent ? toldOf(bent) : []), ...(overlaps.length > 0 ? [toldOverlaps(overlaps)] : [])];
  const soft = await write(free);
  if (!feet?.length) return { model: soft, notes };
  const stiffer = await stiffnessFor(await robotOf(soft), (times) => servosIn(model, { ...free, stiffer: times }));
  const stiff = stiffer === 1 ? soft : await write({ ...free, stiffer });
  return { model: stiff, notes: [...notes, ...toldStiffness(stiffer)] };
}
