// `corral inspect`: the emitted WGSL for reading, and what its stages cost
import { inspect, type Inspection } from "../batch/kernel/inspect.ts";
import { planKernelsOf, plannerOf } from "../sizing/plan.ts";
import { EXIT, parse, print, printJson } from "./io.ts";
import { table } from "./table.ts";
import { batchOptionsOf, MODEL_OPTIONS, onlyArgument } from "./target.ts";

export const summary = "the emitted WGSL of a model or environment, and what it costs";

export const help = `
Usage: corral inspect MODEL_OR_ENV [--kernel NAME] [--stage NAME] [--cost] [--rolled] [--json]

Prints the kernel that corral emits for a model (path of an MJCF file) or an environment. Needs no
device. Stages are marked by comments and named as in MuJoCo; locals keep the names of their fields.

  --kernel NAME     step (default); environments also have reset
  --stage NAME      only this stage: kinematics, collision, solver, ...
  --cost            only the table of costs: operations of each stage, reads and writes, branches
                    and loops
  --rolled          kernels with runtime loops instead of straight-line code
  --set NAME=VALUE  overrides an option of the model: integrator=RK4; may be repeated
  --json            one JSON document on stdout

Exit codes: 0 done, 2 bad usage or no readable model.
`;

export async function run(args: string[]): Promise<number> {
  const { rolled, set } = MODEL_OPTIONS;
  const options = {
    rolled,
    set,
    kernel: { type: "string" },
    stage: { type: "string" },
    cost: { type: "boolean" },
  } as const;
  const { values, positionals } = parse(args, options, 1);
  const target = onlyArgument(positionals, "MODEL_OR_ENV");
  const batch = { ...batchOptionsOf(values), numEnvs: 1 };
  const planned = planKernelsOf(await plannerOf(target, batch), batch);
  const found = inspect(planned, values.kernel, values.stage);
  if (values.json) printJson({ ...found, stage: values.stage ?? null });
  else if (values.cost) print(costs(found));
  else print([...declaration(found), found.wgsl].join("\n"));
  return EXIT.done;
}

/** What a stage computes, reads and writes, as comments above its text. */
function declaration({ declared }: Inspection): string[] {
  if (!declared) return [];
  const list = (what: string, names: readonly string[]) => (names.length > 0 ? [`// ${what} ${names.join(", ")}`] : []);
  return [
    `// ${declared.doc}`,
    ...list("reads", [...new Set(declared.reads)]),
    ...list("writes", [...declared.writes, ...(declared.sometimes ?? [])]),
  ];
}

function costs({ name, kernel, cost, wgsl }: Inspection): string {
  const share = (n: number) => `${((100 * n) / cost.arithmetic).toFixed(1)} %`;
  const stages = Object.entries(cost.stages).map(([stage, n]) => [stage, String(n), share(n)]);
  const operations = Object.entries(cost.operations).sort((a, b) => b[1] - a[1]);
  return [
    `${name}: ${kernel}, ${wgsl.split("\n").length} lines of WGSL; loops count their body once`,
    "",
    table([["stage", "operations", "share"], ...stages, ["all", String(cost.arithmetic), ""]]),
    "",
    `loads of four values   ${cost.loads}`,
    `stores of four values  ${cost.stores}`,
    `accesses by an index   ${cost.indexed}`,
    `branches               ${cost.branches}`,
    `runtime loops          ${cost.loops}`,
    `operations             ${operations.map(([op, n]) => `${op} ${n}`).join(", ")}`,
  ].join("\n");
}
