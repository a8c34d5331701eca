// the scene of an MJCF that lacks a floor, a pose to start from or actuators: written, and loaded
import { loadModel, type Model } from "../model/model.ts";
import { drivenBase } from "../scaffold/feet.ts";
import { compilerOf, lackOf, mjcfScene, type Lack } from "../scaffold/mjcf-scene.ts";
import { planarRoot } from "../scaffold/planar.ts";
import { robotOf, standsOn } from "../scaffold/robot.ts";
import { servosIn, standingOn, type ServoOptions } from "../scaffold/scene-servos.ts";
import { stiffnessFor, toldStiffness } from "../scaffold/standing.ts";
import { writeOutput } from "./write-output.ts";

export const KINDS = ["velocity", "reach", "track"] as const;
export type Kind = (typeof KINDS)[number];

/** What a task is for where nobody says: what goes anywhere walks. */
export const kindOf = (model: Model): Kind =>
  drivenBase(model) !== undefined || planarRoot(model) !== undefined ? "velocity" : "reach";

interface Mjcf {
  readonly model: Model;
  /** Its path from the scene. */
  readonly file: string;
}

/** Writes the scene of an MJCF, which is compiled as the robot's own compiler says. */
export async function writeMjcfScene(name: string, scene: string, { model, file }: Mjcf, lack: Lack): Promise<Model> {
  const write = (compiler = "") => {
    writeOutput(scene, mjcfScene(name, model, file, lack, compiler));
    return loadModel(scene);
  };
  const made = await write();
  const compiler = compilerOf(model, made, lack);
  return compiler === "" ? made : write(compiler);
}

/** Writes the scene of an MJCF without actuators, with what else it lacks, and servos that hold the robot up. */
export async function writeServoScene(
  name: string,
  scene: string,
  mjcf: Mjcf,
  kind?: Kind,
): Promise<{ readonly model: Model; readonly lack: Lack; readonly notes: readonly string[] }> {
  const write = (lack: Lack) => writeMjcfScene(name, scene, mjcf, lack);
  const none: Lack = { floor: false, bent: undefined, servos: {} };
  const first = await robotOf(await write(none));
  const chosen = kind ?? kindOf(first.model);
  const lack = { ...none, ...(await lackOf(first, chosen)) };
  const robot = lack.floor || lack.bent ? await robotOf(await write(lack)) : first;
  const feet = chosen === "reach" ? [] : (standsOn(robot) ?? []);
  const isFree = chosen !== "reach" && drivenBase(robot.model) !== undefined;
  const servos: ServoOptions = isFree ? standingOn(robot.model, feet, robot.carries) : {};
  const soft = await write({ ...lack, servos });
  if (feet.length === 0) return { model: soft, lack, notes: [] };
  const stiffer = await stiffnessFor(await robotOf(soft), (times) =>
    servosIn(mjcf.model, { ...servos, stiffer: times }),
  );
  const model = stiffer === 1 ? soft : await write({ ...lack, servos: { ...servos, stiffer } });
  return { model, lack, notes: toldStiffness(stiffer) };
}
