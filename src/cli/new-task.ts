// `corral new-task`: writes a task that runs, to be changed into your own
import { existsSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readsTypeScript } from "../core/typescript.ts";
import { EXIT, parse, print, printJson, UsageError } from "./io.ts";
import { onlyArgument } from "./target.ts";

export const summary = "writes a task of about forty lines that runs, to start your own from";

export const help = `
Usage: corral new-task NAME [--json]

Writes NAME.mts into the current folder: a small model, what is observed, rewarded and ends an episode, each in a line.
Change it into your own. It does not overwrite a file. Where TypeScript cannot be read (Node older than 22.18 without tsx)
it writes NAME.mjs.

  --json   one JSON document on stdout

Exit codes: 0 written, 2 bad usage.
`;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, {}, 1);
  const name = onlyArgument(positionals, "NAME");
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new UsageError(`'${name}' is no name of a task: use letters, digits, - and _, a letter first.`);
  const typed = readsTypeScript(resolve(`${name}.mts`));
  const file = resolve(`${name}.${typed ? "mts" : "mjs"}`);
  if (existsSync(file)) throw new UsageError(`${file} is there already. Choose another name, or move it.`);
  writeFileSync(file, template(name, library(dirname(file))));
  if (values.json) printJson({ file });
  else {
    print(`Wrote ${file}`);
    if (!typed) {
      print(
        `JavaScript, since Node ${process.versions.node} reads no TypeScript: with npm install --save-dev tsx, or Node ` +
          `22.18 or newer, you can name it ${name}.mts.`,
      );
    }
    print(`Next: corral check-env ./${basename(file)}`);
  }
  return EXIT.done;
}

/** What a task imports: the package, or in a clone the sources. */
function library(folder: string): string {
  const source = fileURLToPath(new URL("../index.ts", import.meta.url));
  if (!existsSync(source)) return "corral";
  const path = relative(folder, source).split("\\").join("/");
  return path.startsWith(".") ? path : `./${join(path)}`;
}

/** The text of a new task. */
export const template = (name: string, from: string): string => `// ${name}: a cart that learns to hold a pole upright
import { defineTask, startAround } from ${JSON.stringify(from)};

const model = \`<mujoco model="${name}">
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" range="-2 2" limited="true" damping="0.5"/>
      <geom type="box" size="0.2 0.1 0.05" mass="1" contype="0" conaffinity="0"/>
      <body name="pole" pos="0 0 0.05">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="0.01"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.6" mass="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slider" gear="10" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>\`;

export default defineTask({
  id: ${JSON.stringify(name)},
  model,
  frameSkip: 2,
  maxEpisodeSteps: 500,
  defaults: { max_angle: 0.4 },
  observe: {
    place: "qpos(joint.slider)",
    angle: { value: "qpos(joint.hinge)", noise: 0.002 },
    velocities: { value: "qvel", scale: 0.1, clip: [-5, 5] },
  },
  reward: {
    upright: "exp(-square(qpos(joint.hinge)) / 0.04)",
    centred: { value: "square(qpos(joint.slider))", weight: -0.1 },
    effort: { value: "square(action[0])", weight: -0.01 },
  },
  terminated: { fallen: "abs(qpos(joint.hinge)) > option.max_angle" },
  randomise: { pole: { field: ["body_mass", "body_inertia"], of: "pole", scale: [0.5, 2] } },
  reset: startAround({ qpos: 0.05, qvel: 0.05 }),
});
`;
