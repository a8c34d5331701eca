// control steps of a crash in a bare simulation on the CPU
import { Status } from "../physics/status.ts";
import type { DrivenActuators, DrivenInputs, DrivenNumber } from "../monitor/driven.ts";
import type { Inputs } from "../monitor/inputs.ts";
import type { Precision } from "../trace/javascript.ts";
import type { CpuWorld } from "./cpu-world.ts";
import { driveStep } from "./driven.ts";
import type { CrashScene } from "./scene.ts";
import { fieldBefore } from "./timeline.ts";

/** The largest float32: replaces forces that are not finite, which no call accepts. */
const LARGEST = 2 ** 128 - 2 ** 104;
export const bound = (values: Float64Array): Float64Array =>
  values.map((x) => (Number.isFinite(x) ? x : x < 0 ? -LARGEST : LARGEST));
const calm = (values: Float64Array): Float64Array => new Float64Array(values.length);

/** How a step is made: once more than it was recorded, in so many times as many physics steps, with what events push. */
interface Made {
  readonly again: boolean;
  readonly finer: number;
  readonly pushes: boolean;
  readonly precision: Precision;
}

/** What acts in a control step, or in a physics step where actuators go with the state. */
export type Acting = Inputs & Partial<Pick<DrivenInputs, "numbers">>;

/** Bits that stay where a later physics step is as it should be. */
const LASTING = Status.BAD_CTRL | Status.CONTACT_OVERFLOW;

/** Puts what acts into a world. */
function take(world: CpuWorld, { kick, ...acts }: Inputs, kicks = true): void {
  for (const name of ["ctrl", "qfrc_applied", "xfrc_applied", "eq_active"] as const) world.write(name, acts[name]);
  if (kicks && kick.some((v) => v !== 0))
    world.write(
      "qvel",
      world.read("qvel").map((v, i) => v + kick[i]),
    );
}

/** What acts, with other forces and changes of velocity. */
export const withPushes = <T extends Inputs>(inputs: T, change: (values: Float64Array) => Float64Array): T => ({
  ...inputs,
  qfrc_applied: change(inputs.qfrc_applied),
  xfrc_applied: change(inputs.xfrc_applied),
  kick: change(inputs.kick),
});

/** A control step whose controls are held. Returns its status word. */
export function heldStatus(inputs: Inputs, world: CpuWorld, frameSkip: number, { again, finer, pushes }: Made): number {
  take(world, pushes ? inputs : withPushes(inputs, calm), !again);
  return world.step(frameSkip * finer);
}

/** A control step of a scene whose actuators go with the state of the world; `seen` is given what acts in each physics step. */
export function drivenStatus(
  scene: CrashScene,
  driven: DrivenActuators,
  at: number,
  world: CpuWorld,
  { pushes, ...made }: Made,
  seen: Acting[] = [],
): number {
  const motion = () => ({ qpos: world.read("qpos"), qvel: world.read("qvel") });
  let [status, lasting, failed] = [0, 0, 0];
  const physics = (given: DrivenInputs, step: number) => {
    const all = step === 0 ? given : { ...given, kick: calm(given.kick) };
    const numbers = given.numbers.map((number) => ({ ...number, value: bound(Float64Array.of(number.value))[0] }));
    const inputs = { ...withPushes(all, pushes ? bound : calm), ctrl: bound(all.ctrl), numbers };
    take(world, inputs);
    for (const number of numbers) world.adjust(nameOf(number), number.value);
    status = world.step(1);
    lasting |= status & LASTING;
    seen.push(inputs);
    if (status !== 0) failed ||= seen.length;
    return motion();
  };
  const of = { ...made, from: motion(), kick: pushes ? bound : calm };
  driveStep(scene, driven, scene.moments[at], of, physics);
  // what follows the failure is not wanted
  if ((status | lasting) !== 0) seen.length = failed;
  return status | lasting;
}

const nameOf = ({ field, index }: DrivenNumber): string => `${field}[${index}]`;

/** Numbers of the model that go with the state, by name. */
export function adjustableOf(scene: CrashScene, driven: DrivenActuators, at: number): string[] {
  const { bundle, moments, row, interpreter } = scene;
  const read = (name: string) => fieldBefore(bundle, moments[at], row, name);
  let names: string[] = [];
  const from = { qpos: read("qpos"), qvel: read("qvel") };
  driveStep(scene, driven, moments[at], { from, precision: interpreter.precision }, ({ numbers }) => {
    names = numbers.map(nameOf);
    return undefined;
  });
  driven.forget();
  return names;
}
