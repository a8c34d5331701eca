// ArmPlace: a Panda-like arm puts a cube on a shelf and lets it go
import { actionRateCost, command, defineTask, tracking, type StartScene } from "../../src/env/index.ts";
import { lt, select, type Scalar } from "../../src/trace/scalar.ts";
import { spread, staggered } from "../shared.ts";
import { VARIED } from "../training.ts";
import { anglesOver } from "./kinematics.ts";
import { startWithCube, WITH_CUBE } from "./shared.ts";

/** Ends of x, y and z (m). */
type Range = readonly [number, number];
type Region = readonly [Range, Range, Range];

/** Where episodes may begin with the gripper about the cube, and how far each finger is open (m). */
interface AtCube {
  readonly region: Region;
  readonly open: number;
}

/** On the floor between open fingers: what is next is to shut them. */
const AROUND: AtCube = {
  region: [
    [0.44, 0.58],
    [-0.1, 0.1],
    [0.02, 0.02],
  ],
  open: 0.035,
};

/** In the gripper: a little less than half of the cube. */
const held = (...region: Region): AtCube => ({ region, open: 0.0199 });

/** Options of where episodes begin. */
interface CubeStarts {
  /** Part of the episodes that begin with the gripper about the cube. */
  readonly starts_at_cube: number;
}

/** On the floor between open fingers; in the gripper on the way; in it at the shelf, about to be let go. */
const WAYS: readonly AtCube[] = [
  AROUND,
  held([0.44, 0.58], [-0.1, 0.26], [0.09, 0.2]),
  held([0.44, 0.56], [0.17, 0.27], [0.06, 0.1]),
];

/** One of several, each as often. */
const pick = (draw: Scalar, choices: readonly Scalar[]): Scalar =>
  choices.reduce((at, next, i) => select(lt(draw, 1 - i / choices.length), next, at, "f32"));

/** The cube before the arm, or in a part of the episodes in its gripper: what comes after a stage is learnt beside it. */
function start(s: StartScene<CubeStarts>) {
  const away = startWithCube(s);
  const { starts_at_cube: part } = s.options;
  if (part === 0) return away;
  const [draw, which, ...draws] = s.random.uniforms(5);
  const place = [0, 1, 2].map((k) =>
    pick(
      which,
      WAYS.map(({ region }) => spread(draws[k], ...region[k])),
    ),
  ) as never;
  const open = pick(
    which,
    WAYS.map((way) => way.open),
  );
  const about = [...anglesOver(place), open, open, ...place, 1, 0, 0, 0];
  return { qpos: away.qpos.map((value, i) => select(lt(draw, part), about[i], value, "f32")) };
}

const MOST = 125;

export const armPlace = defineTask({
  ...WITH_CUBE,
  id: "ArmPlace",
  model: new URL("./place.xml", import.meta.url),
  maxEpisodeSteps: MOST,
  training: {
    ppo: {
      numEnvs: 256,
      steps: 3_000_000,
      config: { ...VARIED, initialLogStd: -0.5 },
      options: { starts_at_cube: 0.4, staggered: true },
    },
  },
  defaults: {
    /** The cube is there within this distance of its goal (m). */
    success_distance: 0.025,
    /** Part of the episodes that begin with the gripper about the cube. */
    starts_at_cube: 0,
    /** First episodes end at any length. */
    staggered: false,
  },
  values: {
    ...WITH_CUBE.values,
    // one for each episode, at rest on the shelf (m)
    goal: command([
      [0.44, 0.56],
      [0.18, 0.26],
      [0.06, 0.06],
    ]),
    // near it, fingers are to be open on the way there and to shut about it
    grasp: "away < 0.025 ? saturate((0.04 - qpos(finger_joint1)) / 0.02) : saturate(qpos(finger_joint1) / 0.03)",
    reached: "(1 - tanh(10 * away)) * (0.5 + 0.5 * grasp)",
    placed: "missing < option.success_distance ? 1.0 : 0.0",
    // as high as on the shelf: coming down to it costs nothing
    raised: "saturate((cube.z - 0.02) / 0.04) * (away < 0.05 ? 1.0 : 0.0)",
    touched: "max(length(cfrc_ext(body.left_finger)[3:6]), length(cfrc_ext(body.right_finger)[3:6])) > 0.1",
  },
  // stages, as in ManiSkill's StackCube: at the cube, held, up, at its goal, let go; each is kept once the cube lies there
  reward: {
    reach: "max(placed, reached)",
    hold: "max(placed, held)",
    lift: { value: "max(placed, raised)", weight: 2 },
    carry: { value: "max(placed, raised * (1 - tanh(5 * missing)))", weight: 3 },
    there: { value: tracking("cube", "goal", 0.03), weight: 3 },
    release: { value: "touched ? 0.0 : placed", weight: 4 },
    rate: { value: actionRateCost(), weight: -0.005 },
  },
  truncated: staggered(MOST),
  info: { distance: "missing", success: "!touched && missing < option.success_distance" },
  reset: start,
});
