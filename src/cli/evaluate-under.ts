// `corral evaluate --under`: what is printed of a policy in the same worlds under MuJoCo and as ONNX
import { countOf, fixed } from "../core/units.ts";
import { encodePolicyOnnx } from "../export/onnx.ts";
import { evaluateUnder, UNDERS, type PlayedSoFar, type Under, type UnderReport } from "../runs/under.ts";
import { nowAndThen, print, printJson, progress, UsageError } from "./io.ts";
import { table } from "./table.ts";
import { modulesOf } from "./task-file.ts";

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Names of a list of the command line, the first of which is compared with. */
export function undersOf(text: string): Under[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !(UNDERS as readonly string[]).includes(name));
  if (wrong !== undefined || new Set(names).size < names.length)
    throw new UsageError(`--under is '${text}': pass some of ${UNDERS.join(",")}, each once.`);
  const others = names as Under[];
  // what is compared with comes first
  return others.includes("corral") ? ["corral", ...others.filter((name) => name !== "corral")] : ["corral", ...others];
}

/** How far episodes that play have come; an episode ends after no known step if `most` is Infinity. */
export const stepOf = ({ steps, most }: PlayedSoFar): string =>
  `control step ${steps}${most < Infinity ? ` of at most ${most}` : ""}`;

interface Given {
  readonly under: string;
  readonly episodes: number;
  readonly worlds: number | undefined;
  readonly seed: number;
  readonly env: object;
  readonly json: boolean;
}

export async function runUnder(source: string, { under, episodes, worlds, seed, env, json }: Given): Promise<void> {
  const tell = nowAndThen();
  const report = await evaluateUnder(source, {
    under: undersOf(under),
    episodes,
    seed,
    env,
    encode: encodePolicyOnnx,
    modules: modulesOf,
    onProgress: (one, done, playing) => {
      const text = `under ${one}: ${done} of ${countOf(episodes, "episode")}`;
      if (playing) tell(() => `${text}, ${stepOf(playing)}`);
      else progress(text);
    },
    ...(worlds === undefined ? {} : { worlds }),
  });
  if (json) return printJson(report);
  print(`${report.id}: ${report.checkpoint}, ${countOf(report.episodes, "episode")} each, the same starts`);
  print(table(rowsOf(report), 0));
  const told = toldOf(report);
  if (told.length > 1) print(`what the task reports, means\n${table(told, 2)}`);
  const ends = endsOf(report);
  if (ends.length > 1) print(`what ended episodes early\n${table(ends, 1)}`);
}

/** Numbers of the task: of all steps, and of the last ones, where what sums up is to be read. */
function toldOf({ results }: UnderReport): string[][] {
  const names = Object.keys(results[0].infos);
  if (names.length === 0) return [];
  const numbers = (of: Readonly<Record<string, number>>) =>
    names.map((name) => String(Number(of[name].toPrecision(3))));
  return [
    ["under", "of", ...names],
    ...results.map((r) => [r.under, "all steps", ...numbers(r.infos)]),
    ...results.map((r) => [r.under, "last steps", ...numbers(r.lasts)]),
  ];
}

/** What ended episodes, where more than one condition may. */
function endsOf({ results }: UnderReport): string[][] {
  const names = Object.keys(results[0].endedBy);
  if (names.length < 2 || results.every((r) => r.terminated === 0)) return [];
  return [["under", ...names], ...results.map((r) => [r.under, ...names.map((name) => percent(r.endedBy[name]))])];
}

function rowsOf({ results }: UnderReport): string[][] {
  const success = results.some((r) => r.success !== undefined);
  const header = [
    "under",
    "on",
    "return",
    "+-",
    "length",
    "terminated",
    ...(success ? ["success"] : []),
    "gap",
    "+-",
    "actions",
  ];
  return [
    header,
    ...results.map((r) => [
      r.under,
      r.device,
      fixed(r.meanReturn, 1),
      r.stderrReturn.toFixed(1),
      r.meanLength.toFixed(0),
      percent(r.terminated),
      ...(success ? [r.success === undefined ? "" : percent(r.success)] : []),
      r.gap === undefined ? "" : fixed(r.gap.mean, 2),
      r.gap === undefined ? "" : r.gap.stderr.toFixed(2),
      r.actions === undefined ? "" : r.actions.toExponential(0),
    ]),
  ];
}
