// what new users get wrong in a task: every message says where, what, and what to write instead
import { expect, test } from "vitest";
import * as corral from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

const { command, inContact, jointLimitCost, makeVec, outside, powerCost, push, ramp } = corral;
const { startAround, timeOut, touchdown, tracking, velocityCost, velocityLimit } = corral;
type Any = any; // eslint-disable-line
const term = (value: unknown) => ({ reward: { r: value } });
const event = (value: unknown) => ({ events: { e: value } });
const reset = (start: unknown) => ({ reset: () => start });
const OPERATORS =
  "a number of the world is not known while its kernel is made. Instead of JavaScript's operators, Math and ?: write add(a, b), mul(a, b), gt(a, b), select(condition, a, b) of `scalar`, sin(a) of `functions`, which corral exports, or an expression in quotes.";
const TERMS = '; it is terms by name, as in { height: "xpos(body.torso).z" }, or a function that returns them.';

test.each<[string, object, string]>([
  // groups
  ["group", { rewards: {} }, '[bad-task] task Rover has a group "rewards", which means nothing; nearest: reward.'],
  [
    "group",
    { terminate: {} },
    '[bad-task] task Rover has a group "terminate", which means nothing; nearest: terminated.',
  ],
  ["missing", { reward: undefined }, `[bad-task] task Rover: reward is missing${TERMS}`],
  ["missing", { id: undefined }, "[bad-task] a task: id is missing; it is a string that is not empty."],
  ["missing", { model: undefined }, "[bad-task] task Rover: model is missing; it is XML text, or the URL of a file."],
  ["form", { observe: ["qpos"] }, `[bad-task] task Rover: observe is a list${TERMS}`],
  ["form", { observe: "qpos" }, `[bad-task] task Rover: observe is "qpos"${TERMS}`],
  ["form", { reset: { qpos: [] } }, "[bad-task] task Rover: reset is an object of qpos; it is a function."],
  [
    "form",
    { actionSpace: new corral.Discrete(3) },
    "[bad-task] task Rover: actionSpace is a Discrete; it is a function.",
  ],
  ["form", event({ qvel: [1] }), "[bad-task] task Rover: events is an object of e; it is functions by name."],
  ["training", { training: { pppo: {} } }, '[bad-task] task Rover: training is of an algorithm "pppo"; nearest: ppo.'],
  [
    "training",
    { training: { ppo: { numEnv: 3 } } },
    '[bad-task] task Rover: training.ppo has no setting "numEnv"; nearest: numEnvs.',
  ],
  [
    "training",
    { training: { sac: { steps: "9" } } },
    '[bad-task] task Rover: training.sac.steps is "9"; it is a whole number.',
  ],
  [
    "form",
    { defaults: { a: undefined } },
    "[bad-task] task Rover: defaults is an object of a; it is options by name, each a number, true or false, a string, or a range [low, high].",
  ],
  [
    "form",
    { randomise: { a: "mass" } },
    "[bad-randomise] task Rover, randomise.a: it is no object; give it a field, and one of set, scale and add.",
  ],
  [
    "space",
    { actionSpace: () => ({ n: 3 }) },
    "[bad-term] task Rover, actionSpace: it returns no Box, Discrete or MultiDiscrete.",
  ],
  [
    "observation",
    { observation: { histroy: 3 } },
    '[unknown-option] observation has no option "histroy"; nearest: history.',
  ],

  // functions
  ["operator", term((s: Any) => s.d.qpos.at(0) * 2), `[trace-operator] task Rover, reward.r: ${OPERATORS}`],
  [
    "operator",
    { terminated: { t: (s: Any) => s.d.qpos.at(0) > 2 } },
    `[trace-operator] task Rover, terminated.t: ${OPERATORS}`,
  ],
  ["operator", term((s: Any) => Math.sin(s.d.qpos.at(0))), `[trace-operator] task Rover, reward.r: ${OPERATORS}`],
  [
    "index",
    term((s: Any) => s.d.qpos[0]),
    "[bad-term] task Rover, reward.r: it gives undefined. Fields are read as d.qpos.at(0), d.xpos.vec3(body).",
  ],
  ["null", term(null), "[bad-term] task Rover, reward.r: it gives null, which is no finite number."],
  [
    "field",
    term((s: Any) => s.d.qposs.at(0)),
    '[unknown-field] task Rover, reward.r: no field is named "qposs"; nearest: qpos0, qpos, xpos.',
  ],
  [
    "element",
    term((s: Any) => s.d.qvel.at(99)),
    "[trace-index] task Rover, reward.r: qvel[99] is outside its 8 elements.",
  ],
  [
    "throws",
    term(() => {
      throw new Error("boom");
    }),
    "[term-threw] task Rover, reward.r: it throws Error: boom.",
  ],
  ["terms", { reward: () => [1] }, "[bad-term] task Rover, reward: it returns a list; return terms by name."],
  ["terms", { info: () => undefined }, "[bad-term] task Rover, info: it returns undefined; return terms by name."],

  // starts and events
  ["start", reset({ qpos: [0, 0] }), "[bad-term] task Rover, reset: it returns 2 values of qpos; return 9."],
  [
    "start",
    reset({ qposs: [] }),
    "[bad-term] task Rover, reset: it returns qposs; a start has qpos, qvel, act, mocap_pos, mocap_quat, eq_active.",
  ],
  [
    "start",
    reset({ qvel: [0, 0, NaN, 0, 0, 0, 0, 0] }),
    "[bad-term] task Rover, reset: it returns NaN for qvel[2]; a start is finite numbers.",
  ],
  [
    "start",
    { reset: async () => ({}) },
    "[bad-term] task Rover, reset: it returns a promise: it may not be async; return { qpos, qvel, act }, or what of them is not zero.",
  ],
  [
    "start",
    { reset: startAround({ key: "home" }) },
    '[unknown-name] task Rover, reset: the model has no key named "home"; there are none.',
  ],
  [
    "start",
    { reset: startAround({ qpoz: 1 } as Any) },
    '[bad-term] task Rover, reset: startAround has no option "qpoz"; nearest: qpos.',
  ],
  [
    "start",
    { reset: startAround({ qpos: -1 }) },
    "[bad-term] task Rover, reset: qpos of startAround is -1; it is a number of at least 0.",
  ],
  [
    "event",
    event(() => undefined),
    "[bad-term] task Rover, events.e: it returns undefined; return { qvel, qfrc_applied, xfrc_applied, eq_active }, or some of them.",
  ],
  [
    "event",
    event(() => ({ force: [1] })),
    "[bad-term] task Rover, events.e: it gives force; it may give qvel, qfrc_applied, xfrc_applied, eq_active.",
  ],
  ["event", event(() => ({ qvel: [1] })), "[bad-term] task Rover, events.e: it gives 1 numbers of qvel; give 8."],
  [
    "push",
    event(push("rot", { every: [1, 2], velocity: 1 })),
    '[unknown-name] task Rover, events.e: the model has no joint named "rot"; nearest: root.',
  ],
  [
    "push",
    event(push("root", { every: [2, 1], velocity: 1 })),
    "[bad-term] task Rover, events.e: every of push is [2,1]; it is [least, most] in seconds, 0 <= least <= most.",
  ],
  [
    "push",
    event(push("root", { every: 3 as Any, velocity: 1 })),
    "[bad-term] task Rover, events.e: every of push is 3; it is [least, most] in seconds, 0 <= least <= most.",
  ],
  [
    "push",
    event(push("root", { every: [1, 2], velocity: [1, 2] })),
    "[bad-term] task Rover, events.e: velocity of push is [1,2]; it is a number, or one for each of the 6 dofs of root.",
  ],

  // library functions
  [
    "tracking",
    term(tracking("qpos", "qpos", 0)),
    "[bad-term] task Rover, reward.r: width of tracking is 0; it is a number above 0.",
  ],
  [
    "timeOut",
    { truncated: { t: (timeOut as Any)() } },
    "[bad-term] task Rover, truncated.t: timeOut is undefined; it is a number of seconds, above 0.",
  ],
  [
    "power of some",
    term((powerCost as Any)(["x"])),
    '[bad-term] task Rover, reward.r: what powerCost was given is ["x"]; it is nothing: it is of all actuators; velocityCost and torqueCost take joints.',
  ],
  [
    "outside",
    { terminated: { t: outside("qpos[2]", 1, 0) } },
    "[bad-term] task Rover, terminated.t: the range of outside is [1,0]; it is low and high, low <= high; either may be infinite.",
  ],
  [
    "limit",
    { terminated: { t: velocityLimit(NaN) } },
    "[bad-term] task Rover, terminated.t: limit of velocityLimit is NaN; it is a number of at least 0 (m/s, rad/s), or an expression.",
  ],
  [
    "contact",
    { terminated: { t: inContact("torso", { thresold: 1 } as Any) } },
    '[bad-term] task Rover, terminated.t: inContact has no option "thresold"; nearest: threshold.',
  ],
  [
    "touchdown",
    term((touchdown as Any)("torso")),
    "[bad-term] task Rover, reward.r: target of touchdown is undefined; it is a number (s).",
  ],
  [
    "cost of limits",
    term(jointLimitCost({ margin: 0.1 } as Any)),
    '[bad-term] task Rover, reward.r: jointLimitCost has no option "margin"; there are: joints, free.',
  ],
  [
    "joints",
    term(velocityCost("wheel" as Any)),
    '[bad-term] task Rover, reward.r: joints is "wheel"; it is a list of names, such as ["hip"].',
  ],
  ["ramp", term(ramp(0, 1, 0)), "[bad-term] task Rover, reward.r: episodes of ramp is 0; it is a number above 0."],
  [
    "command",
    { observe: { c: (command as Any)([0, 1]) } },
    "[bad-term] task Rover, observe.c: the ranges of command is [0,1]; it is a list of [low, high], one for each number of the command.",
  ],
  [
    "command",
    { observe: { c: command([[1, 0]]) } },
    "[bad-term] task Rover, observe.c: a range of command is [1,0]; it is [low, high], low <= high.",
  ],
  [
    "command",
    {
      observe: {
        a: command([[0, 1]], { key: "k" }),
        b: command(
          [
            [0, 1],
            [2, 3],
          ],
          { key: "k" },
        ),
      },
    },
    '[bad-term] task Rover, observe.b: key of command is "k"; it is a name that no command with other ranges has: command(ranges, { key }).',
  ],
  [
    "a command where there is none yet",
    {
      values: { goal: command([[0, 1]]) },
      randomise: { m: { field: "body_mass", of: "torso", scale: { value: "goal", within: [0.5, 1] } } },
    },
    "[bad-term] task Rover, randomise.m, in values.goal: a command is read where the episode does not have one yet: it would be that of the episode before. In reset and randomise draw from random, or from starting(), which draws the same in a memory that is made then.",
  ],
  [
    "commands whose ranges are functions",
    { observe: { a: command([[0, ramp(1, 2, 5)]]), b: command([[0, ramp(1, 9, 5)]]) } },
    "[bad-term] task Rover, observe.b: key of command is undefined; it is a name that no command with other ranges has: command(ranges, { key }).",
  ],

  // expressions
  [
    "power",
    term("qpos[0] ** 2"),
    "[term-syntax] task Rover, reward.r, line 1, column 10: there is no operator **; write pow(a, b), or square(a).\n  qpos[0] ** 2\n           ^",
  ],
  [
    "power",
    term("qpos[0]^2"),
    '[term-syntax] task Rover, reward.r, line 1, column 8: "^" is no operator; write pow(a, b), or square(a).\n  qpos[0]^2\n         ^',
  ],
  [
    "Math",
    term("Math.abs(qpos[0])"),
    "[term-shape] task Rover, reward.r, line 1, column 6: write abs without Math.\n  Math.abs(qpos[0])\n       ^",
  ],
  [
    "and",
    term("dt > 1 and dt < 2"),
    '[term-syntax] task Rover, reward.r, line 1, column 8: there is "and" after the end of the expression; write &&.\n  dt > 1 and dt < 2\n         ^',
  ],
])("%s: %j", async (_, change, text) => {
  const made = makeVec(rover(change), { numEnvs: 1, device: "cpu", recorder: false });
  const message = await made.then(
    () => "nothing was refused",
    (error: Error) => error.message,
  );
  expect(message).toBe(text);
});

test("what a function of the user's throws is the cause", async () => {
  const own = new TypeError("not today");
  const thrown = () => {
    throw own;
  };
  await expect(makeVec(rover(term(thrown) as never), { numEnvs: 1, device: "cpu" })).rejects.toMatchObject({
    code: "term-threw",
    cause: own,
  });
});

test("two commands of other ranges are drawn apart without keys", async () => {
  const observe = { low: command([[0, 1]]), high: command([[5, 6]]) };
  await using env = await makeVec(rover({ observe }), { numEnvs: 4, device: "cpu" });
  const { observations } = await env.reset({ seed: 1 });
  for (let w = 0; w < 4; w++) {
    expect(Math.floor(observations[2 * w])).toBe(0);
    expect(Math.floor(observations[2 * w + 1])).toBe(5);
  }
});

test("limits of velocities may differ between worlds", async () => {
  const task = rover({
    params: { limit: 1 },
    terminated: { fast: velocityLimit("param.limit", ["root"]) },
    reset: () => ({ qvel: [0, 0, 1.5, 0, 0, 0, 0, 0] }),
  });
  await using env = await makeVec(task, { numEnvs: 2, device: "cpu", gravity: [0, 0, 0] });
  await env.reset({ options: { params: { limit: [1, 2] } } });
  await env.step(new Float32Array(4));
  expect([...env.terminated]).toEqual([1, 0]);
  expect(env.infos.endedBy(0)).toEqual(["fast"]);
});
