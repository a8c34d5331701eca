// models of other projects: which of them load, what blocks the others, how far steps are from MuJoCo's, how fast they are
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { machineFacts } from "../../src/bench/machine.ts";
import { CorralError } from "../../src/core/errors.ts";
import { loadModel } from "../../src/index.ts";
import type { Model } from "../../src/model/model.ts";
import { MAX_PAIRS } from "../../src/model/pairs.ts";
import { unsupportedFeatures } from "../../src/model/supported.ts";
import { asked, USAGE } from "./asked.ts";
import { filesOf } from "./files.ts";
import { inProcess, judge, measure, TURNS, type Answers, type How } from "./measure.ts";
import { judgedReport, measuredTable, scanReport, writeTable, type Scanned } from "./page.ts";

/** What of a model is refused; a world of too many pairs is a model too. */
function refused(model: Model): string[] {
  try {
    return unsupportedFeatures(model).map(({ feature }) => feature);
  } catch (error) {
    if (error instanceof CorralError && error.code === "too-many-pairs")
      return [`more than ${MAX_PAIRS} pairs of geoms`];
    throw error;
  }
}

async function scan(path: string): Promise<Scanned> {
  try {
    const model = await loadModel(path);
    return { path, actuated: model.nactuator > 0, features: refused(model) };
  } catch (error) {
    const text = error instanceof CorralError ? error.message : String(error);
    return { path, actuated: false, features: [], error: text.split("\n")[0] };
  }
}

/** Prints the answer of one model as JSON, or the line that says what is wrong with it. */
async function answer(of: () => Promise<object>): Promise<void> {
  try {
    process.stdout.write(`${JSON.stringify(await of())}\n`);
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

const { values, folder: place, refused: misspelt } = asked(process.argv.slice(2));

if (misspelt !== undefined) {
  process.stderr.write(misspelt);
  process.exitCode = 2;
} else if (values.help) {
  process.stdout.write(USAGE);
} else if (values.judged !== undefined) {
  const { judged } = values;
  await answer(() => judge(judged));
} else if (values.measured !== undefined) {
  const { measured } = values;
  await answer(() => measure(measured));
} else {
  const folder = resolve(place);
  const scanned: Scanned[] = [];
  for (const path of filesOf(folder, values.only.split(","))) scanned.push(await scan(path));
  process.stdout.write(`${scanReport(scanned).join("\n")}\n`);

  /** Each accepted model with actuators, by its path in the folder, as many at once as there are cores: what is measured is processor time. */
  const each = async <H extends How>(how: H) => {
    const wanted = scanned.filter(({ actuated, features }) => actuated && features.length === 0);
    const answers: (Answers[H] | string)[] = [];
    const queue = wanted.map(({ path }, at) => ({ path, at }));
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const name = next.path.slice(folder.length + 1);
        const answer = await inProcess(how, next.path);
        process.stderr.write(`${name}\n`);
        answers[next.at] = typeof answer === "string" ? `${name}: ${answer}` : { ...answer, path: name };
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
    return answers;
  };
  if (values.bounds) process.stdout.write(`\n${judgedReport(await each("judged")).join("\n")}\n`);
  if (values.measure || values.write) {
    const machine = machineFacts("wasm");
    const models = await each("measured");
    const table = measuredTable(models, machine);
    process.stdout.write(`\n${table.join("\n")}\n`);
    if (values.write) {
      const out = new URL("../../bench/results/zoo.json", import.meta.url);
      writeFileSync(out, `${JSON.stringify({ machine, settings: TURNS, models })}\n`);
      writeTable(table);
    }
  }
}
