// what encoders read, and what an episode has drawn of its actuators
import { add, type Scalar } from "../../../trace/scalar.ts";
import { jointOf } from "../../../model/model.ts";
import { actuatorsOf, AMOUNTS } from "../actuators.ts";
import type { AmountName, Scene } from "../task.ts";
import { needs } from "./source.ts";

/** Actuators by name or pattern, in the order of their names; all if none is named. */
const named = ({ model }: Scene, names: readonly string[]): number[] =>
  (names.length === 0 ? ["*"] : names).flatMap((name) => actuatorsOf(model, name));

/** Positions of the joints of actuators, by name or pattern, as their encoders read them: with the `bias` of the episode. */
export const encoders =
  (...names: readonly string[]) =>
  (s: Scene): readonly Scalar[] =>
    named(s, names).map((i) => {
      const joint = jointOf(s.model, i);
      needs(joint >= 0, `actuator ${s.model.names.actuator[i]} of encoders`, "of no joint", "one of a slide or hinge");
      return add(s.d.qpos.at(s.model.jnt_qposadr[joint]), s.actuators("bias", i) ?? 0);
    });

/** A number of actuators in this episode, as drawn or said: for critics, which may know it. 0 where nothing is said. */
export const actuatorNumbers =
  (name: AmountName, ...names: readonly string[]) =>
  (s: Scene): readonly Scalar[] => {
    needs(
      Object.hasOwn(AMOUNTS, name),
      "the number of actuatorNumbers",
      name,
      `one of ${Object.keys(AMOUNTS).join(", ")}`,
    );
    return named(s, names).map((i) => s.actuators(name, i) ?? 0);
  };
