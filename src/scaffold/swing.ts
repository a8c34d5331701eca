// how fast a robot of two legs is asked to walk at most: its feet come forward no faster than dampers of its joints let them
import type { GaitLeg } from "./gait.ts";
import { fastestOf } from "./motors.ts";
import type { Robot } from "./robot.ts";

/** A foot that swings forward along a sine is faster than the base by this. */
const PEAK = Math.PI / 2;
/** The part of a joint's fastest that a swing takes: the rest holds the leg, and catches what is pushed. */
const SHARE = 2 / 3;

/** m/s: what is slower than this hardly walks. */
const SLOWEST = 0.1;

/** Forward speed (m/s) at which the slowest joint of a leg has its share; Infinity where none has a damper. */
export const swingSpeed = ({ model }: Robot, legs: readonly GaitLeg[]): number =>
  Math.max(
    SLOWEST,
    Math.min(
      ...legs.flatMap(({ motors, ahead }) =>
        motors.map((motor, i) =>
          ahead[i] === 0 ? Infinity : (SHARE * fastestOf(model, motor)) / (PEAK * Math.abs(ahead[i])),
        ),
      ),
    ),
  );
