// the page of a run: how it learned, how fast, in what memory, and what happened on the way
import { formatBytes, formatCount } from "../core/units.ts";
import { barChart } from "../report/bars.ts";
import { lineChart, type Series } from "../report/chart.ts";
import { escapeHtml, htmlTable, page } from "../report/page.ts";

/** What the log does not say. */
export interface ReportFacts {
  readonly config: Readonly<Record<string, unknown>>;
  readonly device: string;
  readonly memory: readonly (readonly [name: string, bytes: number])[];
}

type Line = Readonly<Record<string, unknown>>;

/** Points of a curve at most; more are means of equal parts. */
const POINTS = 300;

const isNumber = (value: unknown): value is number => typeof value === "number";

/** A curve of the log over env steps. */
function curve(lines: readonly Line[], name: string, label = name): Series {
  const all = lines.flatMap(({ envSteps, [name]: value }): [number, number][] =>
    isNumber(envSteps) && isNumber(value) ? [[envSteps, value]] : [],
  );
  const size = Math.ceil(all.length / POINTS);
  const points: [number, number][] = [];
  for (let from = 0; from < all.length; from += size) {
    const part = all.slice(from, from + size);
    const mean = (i: 0 | 1) => part.reduce((sum, point) => sum + point[i], 0) / part.length;
    points.push([mean(0), mean(1)]);
  }
  return { label, points };
}

const short = (value: number): string => String(Number(value.toPrecision(3)));

/** What is drawn: a chart of some numbers of the log, left out if there are none or all are 0. */
const CHARTS: readonly { title: string; y: string; curves: readonly (readonly [name: string, label: string])[] }[] = [
  {
    title: "Return",
    y: "mean return of episodes",
    curves: [
      ["episodeReturn", "while it learned"],
      ["evalReturn", "evaluation"],
    ],
  },
  {
    title: "Episode length",
    y: "control steps",
    curves: [
      ["episodeLength", "while it learned"],
      ["evalLength", "evaluation"],
    ],
  },
  { title: "Policy loss", y: "mean over minibatches", curves: [["policyLoss", "policy loss"]] },
  { title: "Value loss", y: "mean over minibatches", curves: [["valueLoss", "value loss"]] },
  { title: "Divergence of an update", y: "approximate KL", curves: [["kl", "kl"]] },
  { title: "Explained variance of returns", y: "share", curves: [["explainedVariance", "explained variance"]] },
  { title: "Entropy", y: "nats", curves: [["entropy", "entropy"]] },
  { title: "Temperature", y: "weight of the entropy", curves: [["temperature", "temperature"]] },
  { title: "Random actions", y: "share", curves: [["epsilon", "epsilon"]] },
  { title: "Standard deviation of actions", y: "mean", curves: [["std", "std"]] },
  { title: "Learning rate", y: "of Adam", curves: [["learningRate", "learning rate"]] },
  { title: "Length of the gradient", y: "before shortening", curves: [["gradNorm", "gradient norm"]] },
  { title: "Throughput", y: "env steps/s, training included", curves: [["envStepsPerSec", "env steps/s"]] },
];

/** Counts of what was clipped or went wrong, over the whole run. */
const COUNTS: readonly (readonly [name: string, label: string])[] = [
  ["rewardsClipped", "rewards clipped"],
  ["rewardsLeftOut", "rewards too large for their normalisation"],
  ["observationsClipped", "observations clipped"],
  ["ratiosClipped", "probability ratios clipped"],
  ["badSteps", "steps of worlds that failed"],
];

const shown = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** The page, from the text of a log. */
export function reportPage(log: string, { config, device, memory }: ReportFacts): string {
  const lines = log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
  const updates = lines.filter((line) => isNumber(line.iteration) && !("event" in line));
  const [events, ends] = [lines.filter((line) => "event" in line), lines.filter(({ end }) => end === true)];
  const [last, end] = [updates.at(-1), ends.at(-1)];

  const charts = CHARTS.map(({ title, y, curves }) => {
    const series = curves
      .map(([name, label]) => curve(updates, name, label))
      .filter(({ points }) => points.some(([, y]) => y !== 0));
    return lineChart({ title, x: "env steps", y, series, format: short, axes: "linear" });
  });
  const bars = [{ label: "device", parts: memory }];
  const evaluation = updates.findLast(({ evalReturn }) => isNumber(evalReturn));
  const facts: [string, string][] = [
    ["environment", shown(config.env)],
    ["algorithm", shown(config.algo).toUpperCase()],
    ["seed", shown(config.seed)],
    ["device", device],
    ["env steps", formatCount(isNumber(last?.envSteps) ? last.envSteps : 0)],
    ["updates", formatCount(isNumber(last?.iteration) ? last.iteration : 0)],
    ["seconds of training", isNumber(last?.seconds) ? last.seconds.toFixed(1) : ""],
    ["last evaluation", isNumber(evaluation?.evalReturn) ? short(evaluation.evalReturn) : "none"],
    ["memory", formatBytes(memory.reduce((sum, [, bytes]) => sum + bytes, 0))],
  ];
  const counts = COUNTS.map(([name, label]): [string, string] => [
    label,
    formatCount(updates.reduce((sum, { [name]: value }) => sum + (isNumber(value) ? value : 0), 0)),
  ]);
  const error = (end?.error as { message?: string } | undefined)?.message;
  const title = `${shown(config.env)}, ${shown(config.algo).toUpperCase()}, seed ${shown(config.seed)}`;
  const parts = [
    `<h1>${escapeHtml(title)}</h1>`,
    error === undefined ? "" : `<p class="note">${escapeHtml(error)}</p>`,
    htmlTable(["", ""], facts, [0, 1]),
    `<div class="charts">${charts.filter((chart) => chart !== "").join("")}${barChart("Memory, all of it reserved before the first step", bars, formatBytes)}</div>`,
    `<h2>Extreme values</h2>`,
    htmlTable(["over the whole run", ""], counts),
  ];
  if (events.length > 0) {
    const rows = events.map(({ iteration, event, message }) => [shown(iteration), shown(event), shown(message)]);
    parts.push("<h2>On the way</h2>", htmlTable(["update", "what", ""], rows, [1, 2]));
  }
  const settings = Object.entries(config).map(([name, value]) => [name, shown(value)]);
  parts.push("<h2>Settings</h2>", htmlTable(["", ""], settings, [0, 1]));
  return page(title, parts.join("\n"));
}
