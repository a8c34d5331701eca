// what legged robots that follow a joystick have in common: commands, and what feet cost that slip
import { command, inContact, type Scene } from "../src/env/index.ts";
import { lt, select, square, sum, type Scalar } from "../src/trace/scalar.ts";

/**
 * Forward, sideways (m/s) and turning (rad/s), drawn within the task's parameters of these names; others every few
 * seconds, a tenth of them to stand. `back` is how fast it goes backwards, as an expression.
 */
export function joystick(back: string): (s: Scene) => Scalar[] {
  const drawn = command(
    [
      [back, "param.forward"],
      ["-param.sideways", "param.sideways"],
      ["-param.turn", "param.turn"],
      [0, 1],
    ],
    { every: [3, 8], key: "joystick" },
  );
  return (s) => {
    const [x, y, turn, stands] = drawn(s);
    return [x, y, turn].map((v) => select(lt(stands, 0.1), 0, v, "f32"));
  };
}

/** Speed of feet along the ground while they touch it, squared (m²/s²): their sensors of velocity are the model's first. */
export const slip =
  (feet: readonly string[]) =>
  (s: Scene): Scalar =>
    sum(
      feet.map((foot, i) => {
        const [x, y] = s.d.sensordata.run(3 * i, 2);
        return select(inContact(foot)(s), sum([square(x), square(y)]), 0, "f32");
      }),
    );
