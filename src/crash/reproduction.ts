// a crash as a program: one TypeScript file, and the MJCF in a folder
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { makeOutputFolder } from "../core/make-folder.ts";
import { oneLine } from "../core/show.ts";
import { reasonOf } from "../core/write-bytes.ts";
import type { Bundle } from "../record/bundle.ts";
import type { Acting } from "./minimise-steps.ts";
import type { Minimised } from "./minimise.ts";

const list = (values: ArrayLike<number>): string =>
  `[${Array.from(values, (x) => (Object.is(x, -0) ? "-0" : String(x))).join(", ")}]`;

/** What acts in a control step; forces and changes of velocity only if there are any. */
function inputText(input: Acting): string {
  const { kick, qfrc_applied, xfrc_applied, ctrl, eq_active, numbers = [] } = input;
  const always = ["ctrl", "eq_active"];
  const some = Object.entries({ ctrl, eq_active, qfrc_applied, xfrc_applied, kick }).filter(
    ([name, values]) => (always.includes(name) && values.length > 0) || values.some((x) => x !== 0),
  );
  // every row has the same type
  if (numbers.length > 0) some.push(["numbers", Float64Array.from(numbers, ({ value }) => value)]);
  const text = some.map(([name, values]) => `${name}: ${list(values)}`).join(", ");
  return `{ ${text} } as { [name: string]: number[] | undefined }`;
}

/** Folder of the model's files, apart from the program: a file of a bundle must not replace the program or the package that it imports. */
const MODEL_FOLDER = "mjcf";

/** The text of the program. */
function reproductionText(bundle: Bundle, m: Minimised): string {
  const { opt } = m.model;
  const options = {
    timestep: opt.timestep,
    gravity: opt.gravity,
    integrator: opt.integrator,
    solver: opt.solver,
    cone: opt.cone,
    iterations: opt.iterations,
    ls_iterations: opt.ls_iterations,
    tolerance: opt.tolerance,
    disableflags: opt.disableflags,
    enableflags: opt.enableflags,
  };
  const { device, arithmetic } = m.where;
  const changes = m.model.changes ?? [];
  const source = `await loadModel(new URL(${JSON.stringify(`./${MODEL_FOLDER}/${bundle.model.source.file}`)}, import.meta.url))`;
  const cures = m.cures.map((c) => `//   ${oneLine(c.change)}`);
  return [
    `// ${oneLine(bundle.about.message)}`,
    `// Makes control steps ${m.steps.first} to ${m.steps.last} of it again, in ${arithmetic} on the CPU. Ends with ${oneLine(m.status.join(", "))}, exit code 1.`,
    ...(m.bounded ? ["// Where a force was not finite, it is as large as float32 goes."] : []),
    ...(cures.length > 0 ? ["// It does not occur with", ...cures] : ["// No change of options that was tried helps."]),
    `// corral ${bundle.about.corral}, MuJoCo ${bundle.about.mujoco}. Run: npx tsx reproduction.mts`,
    `import { createSimulation, loadModel${changes.length > 0 ? ", withChanges" : ""} } from "corral";`,
    "",
    ...(changes.length > 0
      ? [
          "// the numbers of the model that this world had of its own",
          `const model = withChanges(${source}, [`,
          ...changes.map((change) => `  ${JSON.stringify(change)},`),
          "]);",
        ]
      : [`const model = ${source};`]),
    `const options = ${JSON.stringify(options)};`,
    ...(m.adjustable.length > 0
      ? [
          "// what the task's actuators change in each physics step",
          `const adjustable = ${JSON.stringify(m.adjustable)};`,
        ]
      : []),
    `await using sim = await createSimulation(model, { numEnvs: 1, ${m.adjustable.length > 0 ? "adjustable, " : ""}${m.nconmax > 0 ? `nconmax: ${m.nconmax}, ` : ""}device: ${JSON.stringify(device)}, arithmetic: ${JSON.stringify(arithmetic)}, ...options });`,
    "await sim.setState({",
    ...Object.entries(m.state).map(([name, values]) => `  ${name}: ${list(values)},`),
    "});",
    "const inputs = [",
    ...m.inputs.map((input) => `  ${inputText(input)},`),
    "];",
    m.adjustable.length > 0
      ? "for (const { kick, numbers, ...acts } of inputs) {"
      : "for (const { kick, ...acts } of inputs) {",
    '  const { qvel } = await sim.getState(["qvel"]);',
    "  await sim.setState({ ...acts, qvel: qvel.map((v, i) => v + (kick?.[i] ?? 0)) });",
    ...(m.adjustable.length > 0
      ? ["  sim.setOptions(Object.fromEntries(adjustable.map((name, i) => [name, numbers![i]])));"]
      : []),
    `  sim.step(${m.frameSkip});`,
    "}",
    'const { qpos, qvel } = await sim.getState(["qpos", "qvel"]);',
    "const [failed] = await sim.status();",
    'console.log(failed ? failed.names.join(", ") : "it does not occur", { qpos, qvel });',
    "process.exitCode = failed ? 1 : 0;",
    "",
  ].join("\n");
}

/**
 * Writes the program and the model into a folder. Returns the paths of what was written.
 * @throws CorralError reproduction-not-written
 */
export function writeReproduction(folder: string, bundle: Bundle, minimised: Minimised): string[] {
  const { file, xml, assets } = bundle.model.source;
  const files: [string, string | Uint8Array][] = [
    ["reproduction.mts", reproductionText(bundle, minimised)],
    ...Object.entries({ [file]: xml, ...assets }).map(([name, content]): [string, string | Uint8Array] => [
      join(MODEL_FOLDER, name),
      content,
    ]),
  ];
  try {
    makeOutputFolder(folder);
    return files.map(([name, content]) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    });
  } catch (cause) {
    throw new CorralError(
      "reproduction-not-written",
      `the reproduction was not written to ${folder} (${reasonOf(cause)}). Pass --out, a folder that can be written.`,
      { folder },
      { cause },
    );
  }
}
