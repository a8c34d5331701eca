// where a motion that is to be followed has what floats of a robot: in the ground, or always over it
import type { Model } from "../model/model.ts";
import { flies } from "./feet.ts";
import type { Clip } from "./motion-notes.ts";
import { floatingBody } from "./planar.ts";
import { floorOf, lowestOf } from "./stance.ts";
import { kinematicsOf } from "./straight-legs.ts";
import { withRobot } from "./with-robot.ts";

/** m that it may lie in the ground, as soles of recordings do, and over it where it is nearest. */
const SUNK = 0.03;
const OVER = 0.05;
/** So many frames are looked at, at least. */
const LOOKS = 100;

const millimetres = (x: number): string => `${Math.round(1000 * Math.abs(x))} mm`;

/** Notes on it; none where the ground is no level plane, or nothing floats, or it flies. */
export async function groundNotes(model: Model, { count, qpos }: Clip): Promise<string[]> {
  const body = floatingBody(model);
  if (body === undefined || flies(model, body)) return [];
  const every = Math.max(1, Math.floor(count / LOOKS));
  const gaps = await withRobot(model, (oracle) =>
    Array.from({ length: Math.ceil(count / every) }, (_, i) => {
      const row = qpos.subarray(i * every * model.nq, (i * every + 1) * model.nq);
      const places = { ...kinematicsOf(oracle, row), geom_xmat: oracle.read("geom_xmat") };
      const [floor, lowest] = [floorOf(model, places), lowestOf(model, body, places)];
      return floor === undefined || lowest === undefined ? 0 : lowest - floor;
    }),
  );
  const least = Math.min(...gaps);
  if (least < -SUNK)
    return [
      `In frame ${gaps.indexOf(least) * every} it lies ${millimetres(least)} in the ground, which throws it out: raise the motion by that.`,
    ];
  return least > OVER
    ? [
        `It never touches the ground: it is ${millimetres(least)} over it where it is lowest. Lower the motion by that, if it does not fly.`,
      ]
    : [];
}
