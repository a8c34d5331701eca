// `corral check-model`: what will hurt in a model, before it crashes
import { checkModel, type ModelFinding, type ModelReport } from "../crash/check-model.ts";
import { inLine } from "../core/show.ts";
import { EXIT, integerOption, parse, print, printJson } from "./io.ts";
import { table } from "./table.ts";
import { MODEL_OPTIONS, modelOf, onlyArgument } from "./target.ts";

export const summary = "what of a model will hurt: time step, masses, limits, contacts; and what it costs";

export const help = `
Usage: corral check-model MODEL_OR_ENV [--set NAME=VALUE] [--top N] [--json]

Looks at a model (path of an MJCF file, or an environment's) for what makes worlds break, with the
numbers that speak for it and what to change: the time step against stiffness, damping and solref;
ratios of masses, tiny inertias; ranges and equalities that contradict each other; penetration and
joints outside their ranges at qpos0 and in keyframes; actuators that are too strong, or push with
the motion; damping, stiffness, gravity and fluids that no model is made for; pairs of geoms that
can never touch; what MuJoCo warns of. Then what it costs, by geom and by sensor. Needs no device.

  --set NAME=VALUE  overrides an option of the model: timestep=0.001, integrator=implicitfast; may
                    be repeated
  --top N           geoms and sensors that are listed (5)
  --json            one JSON document on stdout

Exit codes: 0 nothing that will hurt (notes at most), 1 findings that will, 2 bad usage or no
readable model, 3 what corral does not simulate.
`;

export async function run(args: string[]): Promise<number> {
  const options = { set: MODEL_OPTIONS.set, top: { type: "string" } } as const;
  const { values, positionals } = parse(args, options, 1);
  const path = onlyArgument(positionals, "MODEL_OR_ENV");
  const top = integerOption("top", values.top, 5);
  const report = { ...(await checkModel(await modelOf(path, values.set))), model: path };
  if (values.json) printJson(report);
  else print(describe(report, top));
  if (report.hurting > 0) return EXIT.failed;
  return report.unsupported.length > 0 ? EXIT.refused : EXIT.done;
}

function describe(report: ModelReport, top: number): string {
  const { model, findings, hurting, cost, unsupported } = report;
  const notes = findings.length - hurting;
  const count = (k: number, what: string) => `${k} ${what}${k === 1 ? "" : "s"}`;
  const found =
    findings.length === 0
      ? "nothing found"
      : [hurting > 0 ? `${count(hurting, "finding")} that will hurt` : "", notes > 0 ? count(notes, "note") : ""]
          .filter((text) => text !== "")
          .join(", ");
  const lines = [`${inLine(model)}, timestep ${report.timestep} s: ${found}`];
  for (const finding of findings) lines.push("", ...shown(finding));
  if (unsupported.length > 0) lines.push("", `corral does not simulate: ${unsupported.join(", ")}`);
  if (cost.geoms.length > 0) {
    const rows = cost.geoms.slice(0, top).map((g) => [g.geom, `${g.pairs}`, `${g.contacts}`, `${g.rows}`]);
    lines.push("", table([["cost by geom, at most", "pairs", "contacts", "rows"], ...rows]), ...left(cost.geoms, top));
  }
  if (cost.sensors.length > 0) {
    const rows = cost.sensors.slice(0, top).map((s) => [s.sensor, `${s.operations}`]);
    lines.push(
      "",
      table([[`cost by sensor, beside ${cost.operations} of a step`, "operations"], ...rows]),
      ...left(cost.sensors, top),
    );
  }
  return lines.join("\n");
}

const shown = ({ certainty, text, remedy }: ModelFinding): string[] => [`${certainty}: ${text}`, `  ${remedy}`];

const left = (all: readonly unknown[], top: number): string[] =>
  all.length > top ? [`  and ${all.length - top} more`] : [];
