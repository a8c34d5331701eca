// `corral compare`: one step of many states, in corral and in MuJoCo, side by side
import { compareWithMuJoCo, type Comparison, type CompareOptions, type CountAgreement } from "../compare/compare.ts";
import { ONE_STEP_BOUNDS as B, type Spread } from "../monitor/measure.ts";
import { EXIT, integerOption, parse, print, printJson, progress } from "./io.ts";
import { table } from "./table.ts";
import { DEVICE_HELP, deviceOf, MODEL_OPTIONS, modelOf, onlyArgument, overridesOf } from "./target.ts";

export const summary = "one step of many states beside MuJoCo's float64";

export const help = `
Usage: corral compare MODEL_OR_ENV [--steps N] [--envs N] [--seed N] [--rollout] [--json]

Steps worlds of a model (path of an MJCF file, or an environment's) in MuJoCo (float64) under random
controls. At every step corral's worlds are set to MuJoCo's state and make the same one step.
Reported is max |x - ref| / (1 + max |ref|): median, 99th percentile and maximum over all steps.

  --steps N         steps of each world (200)
  --envs N          worlds, each with its own start and controls (4)
  --seed N          seed of starts and controls (0)
  --rollout         also let the worlds run freely and report how they drift, beside MuJoCo from a
                    state changed by 1e-7
  --set NAME=VALUE  overrides an option of the model: timestep=0.001, integrator=RK4,
                    gravity=0,0,-1.6; or of the batch, arithmetic=float64 on wasm and cpu, and
                    nconmax=512; may be repeated
${DEVICE_HELP}
  --rolled          kernels with runtime loops, where the model's own are straight-line code
  --json            one JSON document on stdout

Bounds: qpos and act ${B.qposMax} at most; qvel ${B.qvelP99} in 99 % of the steps and ${B.qvelMax}
at most; qacc likewise, relative to the accelerations that cancel in it (qacc_smooth, efc_aref);
each sensor by the stage it reads: positions as qpos, velocities as qvel, accelerations and forces
${B.forceP99} and ${B.forceMax}, and so is qacc where contacts are searched. Contacts and rows equal
in number, unless something is within 1e-6 of touching. A step beyond them is accounted for where
MuJoCo's own result changes half as much under a change of its state by 1e-7 (eight random changes
find about half of the largest), or of where its geoms lie on their bodies by 1e-15, which is its
own rounding, or where a documented difference does it at that very state: MuJoCo's solver, or its
search for contacts that have no formula, stops short, and run to its end it agrees with corral. The
worst of them are listed with the solver's iterations and with the error of the same step in
corral's float64.
Exit codes: 0 within the bounds, 1 not, or the model is not supported, 2 bad usage or no
readable model, 3 no device.
`;

/** Settings of the batch, where others are the model's. */
const OF_BATCH = /^(arithmetic|nconmax)=/;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(
    args,
    {
      ...MODEL_OPTIONS,
      steps: { type: "string" },
      envs: { type: "string" },
      seed: { type: "string" },
      rollout: { type: "boolean" },
    },
    1,
  );
  const path = onlyArgument(positionals, "MODEL_OR_ENV");
  const settings = values.set ?? [];
  const ofBatch = overridesOf(settings.filter((s) => OF_BATCH.test(s)));
  const options = {
    steps: integerOption("steps", values.steps, 200),
    envs: integerOption("envs", values.envs, 4),
    seed: integerOption("seed", values.seed, 0, 0),
    rollout: values.rollout ?? false,
    ...(values.rolled ? { unroll: false } : {}),
    ...(ofBatch as Pick<CompareOptions, "arithmetic" | "nconmax">),
    ...deviceOf(values),
    onProgress: progress,
  };
  const comparison = {
    ...(await compareWithMuJoCo(
      await modelOf(
        path,
        settings.filter((s) => !OF_BATCH.test(s)),
      ),
      options,
    )),
    model: path,
  };
  if (values.json) printJson(comparison);
  else print(describe(comparison));
  return comparison.verdict.passed ? EXIT.done : EXIT.failed;
}

function describe(c: Comparison): string {
  if (c.unsupported.length > 0) return refusal(c);
  const lines = [
    `${c.model} on ${c.adapter}: ${c.contacts.total} single steps of ${c.envs} worlds beside MuJoCo (seed ${c.seed})`,
    "",
    table([
      ["", "median", "p99", "max"],
      ...Object.entries(c.oneStep).map(([name, spread]) => [name, ...numbers(spread)]),
    ]),
    "",
    `contacts  ${agreement(c.contacts)}`,
    `rows      ${agreement(c.rows)}`,
    `niter     median ${c.niter.corral.median}, at most ${c.niter.corral.max}; MuJoCo's ${c.niter.mujoco.median}, ${c.niter.mujoco.max}`,
  ];
  if (c.diverged.length > 0) {
    const [first] = c.diverged;
    const left = c.diverged.reduce((sum, d) => sum + d.left, 0);
    lines.push(
      `MuJoCo itself diverged ${times(c.diverged.length)}, first in ${first.field} at step ${first.step} of world ${first.env}; such worlds were started over` +
        (left > 0
          ? `, and the ${left} steps before in which something moved more than 1 m or rad at once are left out`
          : ""),
    );
  }
  if (c.rollout) lines.push("", ...drift(c));
  return [...lines, "", ...verdict(c)].join("\n");
}

function refusal(c: Comparison): string {
  const features = c.unsupportedElements.map(({ feature, elements }) => {
    const more = elements.length > 5 ? ` and ${elements.length - 5} more` : "";
    return `  ${feature}: ${elements.slice(0, 5).join(", ")}${more}`;
  });
  return [`${c.model} is not compared: corral does not simulate`, ...features].join("\n");
}

const numbers = (s: Spread) => [s.median, s.p99, s.max].map(scientific);
const scientific = (x: number) => (x === 0 ? "0" : x.toExponential(1));
const times = (n: number) => (n === 1 ? "once" : `${n} times`);

function agreement({ equal, touching, total, most }: CountAgreement): string {
  const near = touching > 0 ? `, in ${touching} more but for what is within 1e-6 of touching` : "";
  return `equal in ${equal} of ${total} steps${near}; up to ${most} at once`;
}

function drift(c: Comparison): string[] {
  const rows = c.rollout!.map((d) => [
    String(d.step),
    String(d.worlds),
    ...[d.qpos, d.qvel, d.mujoco.qpos, d.mujoco.qvel].flatMap((s) => [scientific(s.median), scientific(s.max)]),
  ]);
  const header = [
    "steps",
    "worlds",
    "qpos median",
    "max",
    "qvel median",
    "max",
    "MuJoCo qpos median",
    "max",
    "qvel median",
    "max",
  ];
  return [
    "Running freely; the last four columns are MuJoCo beside itself from a state changed by 1e-7",
    table([header, ...rows]),
  ];
}

function verdict(c: Comparison): string[] {
  const { passed, reasons, beyond, because, worst } = c.verdict;
  const lines: string[] = [];
  if (beyond > 0) {
    const accounted = Object.entries(because).map(
      ([why, count]) => `${count} by ${NAMED[why] ?? `what MuJoCo leaves over (${why})`}`,
    );
    lines.push(
      `${beyond} errors beyond a bound${accounted.length > 0 ? `, accounted for ${accounted.join(", ")}` : ""}; the worst:`,
    );
    const rows = worst.map((b) => [
      `world ${b.env}`,
      `step ${b.step}`,
      b.field,
      scientific(b.error),
      scientific(b.mujocoSensitivity),
      optional(b.leftover),
      optional(b.beyondLeftover),
      `${b.niter.corral}/${b.niter.mujoco}`,
      optional(b.float64),
      b.because ?? "unexplained",
    ]);
    const header = ["", "", "", "error", "MuJoCo's change", "leftover", "beside its end", "niter", "cpu-f64", "due to"];
    lines.push(table([header, ...rows]), ...float64(c), "");
  }
  if (passed) return [...lines, "within the bounds"];
  return [...lines, "NOT within the bounds:", ...reasons.map((r) => `  ${r}`)];
}

const NAMED: Readonly<Record<string, string>> = { sensitivity: "MuJoCo's own change" };
const optional = (x: number | null): string => (x === null ? "-" : scientific(x));

/** Whether float32 is to blame: of arithmetic, or of what is kept between steps where that is float64 already. */
function float64({ float64: found, arithmetic }: Comparison): string[] {
  if (found === null) return [];
  if (found.agrees === null) return [`cpu-f64 could not be asked: ${found.note}`];
  return [
    found.agrees
      ? `cpu-f64 is within the bounds in these steps, of MuJoCo or of MuJoCo run to its end: what is unexplained is of ${arithmetic === "float64" ? "the float32 that states are kept in between steps (--device cpu-f64 keeps float64)" : "float32 (--device wasm --set arithmetic=float64)"}`
      : "cpu-f64 is beyond the bounds in some of these steps too: not float32 alone",
  ];
}
