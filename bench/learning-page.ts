// what several seeds learned, as a table and a chart in the README of their environment
import { lineChart, type Series } from "../src/report/chart.ts";
import { standaloneSvg } from "../src/report/page.ts";

/** One update: env steps so far, episodes that ended in it, the mean of their returns (null: none did). */
export interface CurvePoint {
  readonly envSteps: number;
  readonly episodes: number;
  readonly episodeReturn: number | null;
}

/** A whole run of one seed. `evaluations`: [env steps, mean return of episodes with the most likely actions]. */
export interface CurveRun {
  readonly seed: number;
  readonly points: readonly CurvePoint[];
  readonly evaluations: readonly (readonly [envSteps: number, meanReturn: number])[];
  readonly evalEpisodes: number;
  /** Of training, evaluations included; compiling is not. */
  readonly seconds: number;
  readonly load: number;
  readonly date: string;
}

/** What others publish: who, on which environment and budget, the return, and where that is said. */
export interface Published {
  readonly who: string;
  readonly what: string;
  /** Of episodes while training, or evaluated. */
  readonly kind: "return" | "evaluation";
  readonly value: number;
  readonly spread?: number;
  readonly seconds?: number;
  readonly source: string;
}

/** Runs of one environment with one configuration. */
export interface Curves {
  readonly env: string;
  readonly numEnvs: number;
  readonly steps: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly driver: string };
  readonly runs: readonly CurveRun[];
}

/** Episodes that a return is the mean of, as CleanRL and Stable-Baselines3 tell it while they train. */
const LAST_EPISODES = 100;
const BUDGETS = [100_000, 250_000, 500_000, 1_000_000, 3_000_000];

/** The mean return of the last episodes, at least 100 where so many were, that ended by then; undefined if none did. */
export function returnAt({ points }: CurveRun, envSteps: number): number | undefined {
  let [episodes, sum] = [0, 0];
  for (const point of points.toReversed()) {
    if (point.envSteps > envSteps || point.episodeReturn === null) continue;
    episodes += point.episodes;
    sum += point.episodes * point.episodeReturn;
    if (episodes >= LAST_EPISODES) break;
  }
  return episodes > 0 ? sum / episodes : undefined;
}

/** The last evaluation by then. */
export const evaluationAt = ({ evaluations }: CurveRun, envSteps: number): number | undefined =>
  evaluations.findLast(([at]) => at <= envSteps)?.[1];

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const sorted = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined).toSorted((a, b) => a - b);

/** Mean, least, median and most; dashes if no seed has a value. */
export function spreadOf(values: readonly (number | undefined)[]): string[] {
  const known = sorted(values);
  if (known.length === 0) return ["–", "–", "–", "–"];
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const median = (known[(known.length - 1) >> 1] + known[known.length >> 1]) / 2;
  return [mean, known[0], median, known.at(-1)!].map(whole);
}

/** Env steps that a row is told of: round budgets within the run, the end of the run as the last. */
const budgetsOf = (steps: number): number[] => [...BUDGETS.filter((budget) => budget < steps), steps];

/** A run ends with a whole rollout, a little after its budget. */
const until = (budget: number, steps: number): number => (budget === steps ? Infinity : budget);

export function curvesTable({ steps, runs }: Curves, published: readonly Published[]): string {
  const rows = budgetsOf(steps).map((budget) => {
    const at = until(budget, steps);
    const seconds = budget === steps ? whole(sorted(runs.map((run) => run.seconds))[runs.length >> 1]) : "";
    const [mean, least, median, most] = spreadOf(runs.map((run) => evaluationAt(run, at)));
    const trained = spreadOf(runs.map((run) => returnAt(run, at)));
    return [whole(budget), ...trained, `${mean} (${least}, ${median}, ${most})`, seconds];
  });
  const peers = published.map(({ who, what, kind, value, spread, seconds, source }) => {
    const mean = spread === undefined ? whole(value) : `${whole(value)} ± ${whole(spread)}`;
    const [trained, evaluated] = kind === "return" ? [mean, ""] : ["", mean];
    return [
      `[${who}](${source}), ${what}`,
      trained,
      "",
      "",
      "",
      evaluated,
      seconds === undefined ? "" : whole(seconds),
    ];
  });
  const head = ["Env steps", "Return: mean", "least", "median", "most", "Evaluation: mean (least, median, most)", "s"];
  return [
    `| ${head.join(" | ")} |`,
    `|---|${"---:|".repeat(head.length - 1)}`,
    ...[...rows, ...peers].map((row) => `| ${row.join(" | ")} |`),
  ].join("\n");
}

export function curvesChart({ env, steps, runs }: Curves, published: readonly Published[]): string {
  const series: Series[] = runs.map((run) => ({
    label: `seed ${run.seed}`,
    points: run.points.flatMap(({ envSteps, episodeReturn }): [number, number][] =>
      // the last rollout goes a little beyond the budget
      episodeReturn === null ? [] : [[Math.min(envSteps, steps), returnAt(run, envSteps)!]],
    ),
  }));
  const levels = published.map(({ who, kind, value }) => ({ label: `${who}, ${kind}: ${whole(value)}`, y: value }));
  const title = `${env}: return of the last ${LAST_EPISODES} episodes, ${whole(steps)} env steps of PPO`;
  return standaloneSvg(
    lineChart({ title, x: "env steps", y: "return", series, levels, axes: "linear", format: whole }),
  );
}

/** Where a part that a bench writes starts and ends in a page. */
interface Marks {
  readonly start: string;
  readonly end: string;
}
const marksOf = (bench: string): Marks => ({
  start: `<!-- generated by ${bench} from its results: do not edit -->`,
  end: `<!-- end of what ${bench} generated -->`,
});
const OWN = marksOf("bench/curves.ts");
export const PEER = marksOf("bench/sac-curves.ts");

/** The part of a README that tells how its environment is learned. */
export function curvesSection(curves: Curves, published: readonly Published[], image: string): string {
  const { env, numEnvs, machine, runs } = curves;
  const seeds = runs.map(({ seed }) => seed);
  const driver = machine.driver.split(":")[0];
  const isWasm = driver === "wasm";
  return [
    OWN.start,
    "",
    "## How it is learned",
    "",
    `\`${isWasm ? "CORRAL_DEVICE=wasm " : ""}npx tsx bench/curves.ts ${env} --seeds ${seeds.join()}\`: PPO as \`corral train ${env}\` sets it up, ${numEnvs} worlds, on ` +
      `${machine.cores} cores (${machine.cpu}) with ${driver}${isWasm ? ", whose returns are the same to the bit on every machine" : ""}. *Return* is that of the last ${LAST_EPISODES} ` +
      `episodes, with actions drawn as in training; *evaluation* is the mean of ${runs[0].evalEpisodes} episodes with the most ` +
      `likely actions. Seconds are the median of wall time, evaluations included, beside other work on the machine.`,
    "",
    curvesTable(curves, published),
    "",
    `![return over env steps of ${seeds.length} seeds](${image})`,
    "",
    OWN.end,
  ].join("\n");
}

/** Runs of SAC beside those of a peer with the same settings. */
export interface PeerCurves {
  readonly env: string;
  readonly steps: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly machine: Curves["machine"];
  readonly runs: readonly CurveRun[];
  /** What has changed since corral's runs, which are made anew with the next one. */
  readonly note?: string;
  readonly peer: {
    readonly who: string;
    readonly versions: Readonly<Record<string, string>>;
    readonly runs: readonly CurveRun[];
  };
}

/** Both sides, and what each calls itself. */
const sidesOf = ({ runs, peer }: PeerCurves) => [["corral", runs] as const, [peer.who, peer.runs] as const];

/** A line for each seed of each side. */
export function peerChart(curves: PeerCurves): string {
  const series = sidesOf(curves).flatMap(([who, runs]): Series[] =>
    runs.map(({ seed, evaluations }) => ({ label: `${who}, seed ${seed}`, points: evaluations })),
  );
  const title = `${curves.env}: evaluations of SAC, ${whole(curves.steps)} env steps`;
  return standaloneSvg(lineChart({ title, x: "env steps", y: "return", series, axes: "linear", format: whole }));
}

/** Evaluations of both sides by env steps, a row for each seed. */
export function peerTable(curves: PeerCurves, what: string): string {
  const rows = sidesOf(curves).flatMap(([who, all]) =>
    all.map(({ seed, evaluations, seconds }) => [
      who,
      String(seed),
      ...evaluations.map(([, mean]) => whole(mean)),
      whole(seconds),
    ]),
  );
  const evaluated = (curves.runs[0] ?? curves.peer.runs[0])?.evaluations ?? [];
  const head = [`${what} of`, "seed", ...evaluated.map(([at]) => whole(at)), "s"];
  return [
    `| ${head.join(" | ")} |`,
    `|---|${"---:|".repeat(head.length - 1)}`,
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ].join("\n");
}

/** The part of a README that shows SAC beside its peer. */
export function peerSection(curves: PeerCurves, image: string): string {
  const { env, config, machine, runs, peer } = curves;
  const seeds = runs.map(({ seed }) => seed);
  const told = Object.entries(config).map(([name, value]) => `\`${name}\` ${JSON.stringify(value)}`);
  return [
    PEER.start,
    "",
    "## SAC beside its peer",
    "",
    `\`npx tsx bench/sac-curves.ts ${env} --seeds ${seeds.join()} --peer PYTHON\`: evaluations of SAC after so many env ` +
      `steps, the mean of ${runs[0]?.evalEpisodes} episodes with the most likely actions, beside ${peer.who} ` +
      `(${Object.entries(peer.versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")}) with the same settings: one ` +
      `world, one batch an env step, ${told.join(", ")}. On ${machine.cores} cores (${machine.cpu}) with ` +
      `${machine.driver.split(":")[0]}; seconds are wall time beside other work on the machine.${curves.note === undefined ? "" : ` ${curves.note}`}`,
    "",
    peerTable(curves, "SAC"),
    "",
    `![evaluations over env steps of ${seeds.length} seeds of each](${image})`,
    "",
    PEER.end,
  ].join("\n");
}

/** A page with a part made anew; it goes to the end of a page that has none. */
export function withSection(page: string, section: string, { start, end }: Marks = OWN): string {
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < 0) return `${page.trimEnd()}\n\n${section}\n`;
  return page.slice(0, from) + section + page.slice(to + end.length);
}
