// known causes of a world that broke, with the numbers that speak for each and what to change
import { inLine } from "../core/show.ts";
import { mjMAXVAL, mjtJoint } from "../model/enums.ts";
import { OUT_OF_DOMAIN, REWARD_SUM } from "./blame.ts";
import { n, type Cause } from "./cause.ts";
import { DEEP, hazards } from "./hazards.ts";
import type { Model } from "../model/model.ts";
import { modelAt, physicsAt } from "./physics-facts.ts";
import { pushes, spun, type Pushed } from "./pushes.ts";
import { inputsIn, stretchStart } from "./second-opinion.ts";
import { arithmeticOf } from "../record/bundle.ts";
import { actionOf, type CrashFindings as Report, type CrashScene } from "./scene.ts";
import { fieldBefore, resultOf } from "./timeline.ts";

/** Radians or body sizes of motion in one physics step that no integrator follows. */
const TURN = 0.5;
/** How many times larger a state that was set is than the one before. */
const JUMP = 1000;
const SMALLER = "Take a smaller timestep and a larger frameSkip; `--minimise` finds how small.";
/** Stages in which what an episode draws of the model comes in. */
const DRAWN: readonly string[] = ["load episode", "randomise"];
/** Control steps before the crash in which a push may have begun it. */
const LOOK_BACK = 8;

/** Causes of a failure, the surest first. */
export async function diagnose(scene: CrashScene, report: Report): Promise<Cause[]> {
  const causes = [
    ...ofTheDevice(report),
    ...inputs(scene, report),
    ...ofTheTask(scene, report),
    ...overflow(scene, report),
  ];
  const isPhysics = report.status.some((s) => ["BAD_QPOS", "BAD_QVEL", "BAD_QACC"].includes(s));
  const given = ["action", "reset", "set by a call", "events", ...DRAWN];
  const isInput = report.blame && given.includes(report.blame.stage);
  if (isPhysics && !isInput) causes.push(...(await ofThePhysics(scene, report)));
  const order = ["certain", "likely", "possible"];
  return causes.sort((a, b) => order.indexOf(a.certainty) - order.indexOf(b.certainty));
}

/** A failure that the same program on the CPU does not show. */
function ofTheDevice({ deviceOnly, terms, step, status }: Report): Cause[] {
  if (!deviceOnly) return [];
  const where = terms.length > 0 ? ` (${terms.join(", ")})` : "";
  return [
    {
      name: "device-only",
      certainty: "certain",
      text: `only the device fails in control step ${step}: ${status.join(", ")}${where}. On the CPU in float32 every number of that step is finite and within its range, so the failure hangs on how this device rounds.`,
      remedy:
        "Look for differences of nearly equal numbers, for numbers below 1e-38 (some devices take them for 0) and above 1e38 in what is named, and leave a margin there; compare with --device cpu-f64.",
    },
  ];
}

/** Bad numbers that came in: actions, states, parameters, forces. */
function inputs({ bundle, moments, row, at }: CrashScene, { blame }: Report): Cause[] {
  const out: Cause[] = [];
  const { env } = bundle.about;
  const moment = moments[at];
  const action = actionOf(bundle, moment, row);
  const largest = (m: typeof moment) =>
    ["qpos", "qvel"]
      .flatMap((name) => [...fieldBefore(bundle, m, row, name)])
      .reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const wrong = action.findIndex((x) => !(Math.abs(x) <= mjMAXVAL));
  const huge = Number.isFinite(action[wrong]);
  const outside = action.findIndex(
    (x, i) => env.actionLow !== undefined && (x < env.actionLow[i] || x > env.actionHigh![i]),
  );
  if (wrong >= 0) {
    out.push({
      name: huge ? "action-too-large" : "action-not-finite",
      certainty: "certain",
      text: `action[${wrong}] is ${n(action[wrong])}${huge ? `, and more than ${n(mjMAXVAL)} is no control to MuJoCo` : ""}: it came from the policy, not from the simulation.`,
      remedy:
        "Look at the policy's last update (loss, gradients, log-std) and at the observation it was given; clip what it puts out.",
    });
  } else if (outside >= 0 || blame?.stage === "action") {
    const i = Math.max(0, outside);
    const range = env.actionLow ? ` outside [${n(env.actionLow[i])}, ${n(env.actionHigh![i])}]` : "";
    out.push({
      name: "action-out-of-range",
      certainty: blame?.stage === "action" ? "certain" : "possible",
      text: `action[${i}] is ${n(action[i])},${range || " which is none of the action space"}.`,
      remedy: "Clip actions to the action space before they are applied, or squash the policy's output (tanh).",
    });
  }
  if (blame?.stage === "reset" || blame?.stage === "set by a call") {
    const where = blame.stage === "reset" ? "the task's reset" : "setState or restore";
    out.push({
      name: "bad-reset-state",
      certainty: "certain",
      text: `${blame.text} was ${blame.value} before the step began: it comes from ${where}${dividedBy(blame)}.`,
      remedy: blame.stage === "reset" ? "Correct what the task's `reset` returns." : "Correct the values that are set.",
    });
  }
  if (blame && DRAWN.includes(blame.stage)) {
    out.push({
      name: "drawn-not-finite",
      certainty: "certain",
      text: `${blame.text} is ${n(blame.value)}: what the episode draws of it (\`randomise\`) is no finite number${dividedBy(blame)}.`,
      remedy: "Look for a division, root or logarithm in the expressions that its range is made of, and clamp them.",
    });
  }
  const jump = at > 0 && moment.cut ? largest(moments[at]) / Math.max(1, largest(moments[at - 1])) : 0;
  if (jump > JUMP) {
    out.push({
      name: "state-set",
      certainty: "likely",
      text: `a call set the state right before this step: the largest position or velocity is ${n(largest(moment))}, ${n(jump)} times what it was.`,
      remedy: "Look at what setState, restore or setOptions was given.",
    });
  }
  for (const [name, value] of Object.entries(moment.params)) {
    if (Number.isFinite(value)) continue;
    const text = `the parameter ${name} is ${value}.`;
    out.push({ name: "bad-parameter", certainty: "certain", text, remedy: `Pass a finite ${name} to setOptions.` });
  }
  for (const name of ["qfrc_applied", "xfrc_applied"]) {
    const values = fieldBefore(bundle, moment, row, name);
    const i = values.findIndex((x) => !(Math.abs(x) <= mjMAXVAL));
    if (i < 0 && blame?.field !== name) continue;
    const what = i < 0 ? blame!.text : `${name}[${i}]`;
    out.push({
      name: "external-force",
      certainty: "certain",
      text: `${what} is ${n(i < 0 ? blame!.value : values[i])}: an external force that no physics can follow.`,
      remedy: "Bound the force that is applied, and look for a division in what computes it.",
    });
  }
  return out;
}

const dividedBy = (blame: Report["blame"]): string =>
  blame?.op === "div" && blame.operands[1]?.value === 0 ? `, which divides ${n(blame.operands[0].value)} by 0` : "";

/** Terms of the reward, parts of the observation, conditions of the user. */
function ofTheTask({ bundle, tripped }: CrashScene, report: Report): Cause[] {
  const { blame, terms, status } = report;
  const out: Cause[] = [];
  const { env } = bundle.about;
  for (const name of tripped.names.filter((t) => env.trips.includes(t))) {
    const how = terms.includes(name) ? "compares what is not a number" : "held";
    const text = `the condition "${inLine(name)}" of \`trip\` ${how}.`;
    out.push({
      name: "condition",
      certainty: "certain",
      text,
      remedy: "It is your own; nothing is wrong with the simulation.",
    });
  }
  const isPhysics = status.some((s) => ["BAD_QPOS", "BAD_QVEL", "BAD_QACC", "BAD_CTRL"].includes(s));
  if (isPhysics || blame?.stage !== "task") return out;
  const [a, b] = blame.operands;
  if (blame.field === REWARD_SUM && terms.length === 0) {
    const made = [a, b].map((o) => n(o?.value ?? Number.NaN)).join(" + ");
    out.push({
      name: "reward-overflow",
      certainty: "certain",
      text: `${blame.text} is ${made}, beyond the largest float32 (3.4e38); each term by itself is finite, and so are state and physics.`,
      remedy: "Bound the terms (clip, saturate, 1 / (1 + x)), or lower their weights.",
    });
    return out;
  }
  if (terms.length === 0) return out;
  const observed = env.observation.map(({ name }) => name);
  const kind = (t: string) =>
    env.rewards.includes(t) ? "reward term" : observed.includes(t) ? "observation" : "condition";
  const of = terms.map((t) => `${kind(t)} "${t}"`).join(", ");
  const how =
    blame.op === "div" && b?.value === 0
      ? {
          name: "division-by-zero",
          text: `divides ${n(a.value)} by 0`,
          remedy: "Add a small number to the divisor, or use a bounded form (exp(-x), 1 / (1 + x)).",
        }
      : blame.op === "sqrt"
        ? {
            name: "root-of-negative",
            text: `takes the square root of ${n(a.value)}`,
            remedy: "Clamp its argument at 0.",
          }
        : blame.op === OUT_OF_DOMAIN
          ? {
              name: "out-of-domain",
              text: `takes a logarithm or a power of ${a ? n(a.value) : "a number"}, which has none`,
              remedy: "Clamp its argument to what is above 0.",
            }
          : {
              name: "task-overflow",
              text: `computes ${blame.op || "a number"} of ${blame.operands.map((o) => `${o.name} = ${n(o.value)}`).join(", ")}`,
              remedy: "Bound its arguments.",
            };
  out.push({ ...how, certainty: "certain", text: `${of} ${how.text}; state and physics are finite.` });
  return out;
}

function overflow({ bundle, moments, row, at }: CrashScene, { status }: Report): Cause[] {
  if (!status.some((s) => s.endsWith("_OVERFLOW"))) return [];
  const { env } = bundle.about;
  const needed =
    env.result.contacts_needed === undefined ? Number.NaN : resultOf(bundle, moments[at], row, "contacts_needed");
  const many = Number.isNaN(needed) ? "more contacts than it has places for" : `${needed} contacts`;
  return [
    {
      name: "contact-overflow",
      certainty: "certain",
      text: `the world has ${many}; nconmax is ${env.nconmax}. The deepest of the last pairs were dropped, so bodies may sink into each other.`,
      remedy: Number.isNaN(needed)
        ? "Pass a larger nconmax."
        : `Pass nconmax: ${needed} or more, or none to have room for all.`,
    },
  ];
}

/** What of model and state makes a step blow up. */
async function ofThePhysics(scene: CrashScene, report: Report): Promise<Cause[]> {
  const { bundle, moments, row, at } = scene;
  const out: Cause[] = [];
  const model = modelAt(bundle, moments[at], row);
  const h = model.opt.timestep;
  const facts = await physicsAt(bundle, moments[at], row);
  const { blame } = report;

  out.push(...hazards(model, facts, arithmeticOf(bundle)));

  const deep = facts?.contacts.filter((c) => -c.dist > DEEP * c.size).sort((a, b) => a.dist - b.dist)[0];
  if (deep) {
    const isStart = report.episodeStep <= 2;
    out.push({
      name: isStart ? "initial-penetration" : "deep-penetration",
      certainty: isStart ? "certain" : "possible",
      text: `${deep.pair} overlap by ${n(-deep.dist)} m${isStart ? ` in step ${report.episodeStep} of the episode` : ""}, ${n(-deep.dist / deep.size)} of the smaller one's size: the contact pushes them apart at once.`,
      remedy: isStart
        ? "Start the episode with the bodies apart, or exclude the pair."
        : "Take a smaller timestep, or larger or softer geoms: something passes into another within a step.",
    });
  }

  out.push(...(await pushed(scene)));

  const refs = facts?.stiffContact;
  const turn = h * largestTurn(scene);
  const slide = h * largestSlide(scene);
  const touches = (facts?.contacts.length ?? 0) > 0 || blame?.stage === "solver";
  const shot = touches && slide > TURN * model.stat.meansize;
  if (out.every((c) => c.certainty !== "certain") && (turn > TURN || shot || refs)) {
    const moves =
      turn > TURN
        ? `something turns ${n(turn)} rad in one physics step`
        : shot
          ? `something that touches moves ${n(slide)} m in one physics step, ${n(slide / model.stat.meansize)} times the mean size of a body`
          : "";
    const soft = refs
      ? `constraints of ${refs.of} have a time constant of ${n(refs.timeconst)} s, less than two timesteps`
      : "";
    out.push({
      name: "timestep-too-large",
      certainty: turn > TURN || shot ? "likely" : "possible",
      text: `the timestep of ${n(h)} s is too large for how fast this moves: ${[moves, soft].filter(Boolean).join("; ")}.`,
      remedy: `${SMALLER} Or use integrator implicitfast or RK4.`,
    });
  }
  if (out.every((c) => c.certainty === "possible")) out.push(...(await ofTheAcceleration(scene, model)));
  if (out.length === 0 && blame) {
    const op = blame.op
      ? ` by ${blame.op} of ${blame.operands.map((o) => `${o.name} = ${n(o.value)}`).join(", ")}`
      : "";
    const text = `${blame.text} grew to ${n(blame.value)} in stage ${blame.stage}${op}; none of the known causes shows in the numbers.`;
    out.push({
      name: "unknown",
      certainty: "possible",
      text,
      remedy: "--minimise finds what helps: it tries smaller timesteps, more iterations and other solvers.",
    });
  }
  return out;
}

/** Forces that turn a joint in one step farther than they can be followed: what they are in between is never seen. */
async function ofTheAcceleration(scene: CrashScene, model: Model): Promise<Cause[]> {
  const { of, turn } = await spun(model, pushedAt(scene, scene.at));
  if (!(turn > TURN)) return [];
  return [
    {
      name: "timestep-too-large",
      certainty: "likely",
      text: `the timestep of ${n(model.opt.timestep)} s is too large for what acts here: before this control step ${of} accelerates so that it turns ${n(turn)} rad in one physics step from rest.`,
      remedy: SMALLER,
    },
  ];
}

/** What pushed the world, in the step of the crash or a few before it. */
async function pushed(scene: CrashScene): Promise<Cause[]> {
  const { bundle, moments, row, at } = scene;
  for (let k = at; k >= Math.max(stretchStart(scene), at - LOOK_BACK); k--) {
    const found = await pushes(modelAt(bundle, moments[k], row), pushedAt(scene, k));
    if (found.length === 0) continue;
    return k === at ? found : found.map((c) => ({ ...c, text: `in control step ${moments[k].step}: ${c.text}` }));
  }
  return [];
}

/** The state before a control step, and what acts in it. */
function pushedAt(scene: CrashScene, k: number): Pushed {
  const moment = scene.moments[k];
  const read = (name: string) => fieldBefore(scene.bundle, moment, scene.row, name);
  return { qpos: read("qpos"), qvel: read("qvel"), act: read("act"), inputs: inputsIn(scene, moment) };
}

/** The fastest rotation before the steps of the crash (rad/s), and the fastest translation (m/s). */
const largestTurn = (scene: CrashScene): number => largestSpeed(scene, false);
const largestSlide = (scene: CrashScene): number => largestSpeed(scene, true);

function largestSpeed({ bundle, moments, row, at }: CrashScene, slides: boolean): number {
  const { model } = bundle;
  const qvel = fieldBefore(bundle, moments[at], row, "qvel");
  let most = 0;
  for (let d = 0; d < model.nv; d++) {
    const type = model.jnt_type[model.dof_jntid[d]];
    const isFree = type === mjtJoint.FREE && d - model.jnt_dofadr[model.dof_jntid[d]] < 3;
    if ((type === mjtJoint.SLIDE || isFree) === slides) most = Math.max(most, Math.abs(qvel[d]));
  }
  return most;
}
