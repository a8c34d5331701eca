// what benchmarks found, as a page: a table of all environments, then charts of each
import { leftOutText } from "./counts.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import { barChart } from "../report/bars.ts";
import { lineChart } from "../report/chart.ts";
import { escapeHtml, htmlTable, page } from "../report/page.ts";
import type { FirstStep } from "./first-step.ts";
import { loopTable, type Loop } from "./loop.ts";
import { busyNote, effort, overview, peersOf, type Bench } from "./report.ts";

const ms = (value: number): string => (value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(0)} ms`);

/** The report of benchmarks on one machine. */
export function benchPage(benches: readonly Bench[], loop?: Loop): string {
  const { machine, settings, adapter } = benches[0];
  const [header, ...rows] = overview(benches);
  const load = `${machine.load.before.toFixed(1)} to ${machine.load.after.toFixed(1)}`;
  const facts = [
    adapter,
    `${machine.cpu}, ${machine.cores} cores, ${formatBytes(machine.memory)} memory, ${machine.platform}, Node ${machine.node}`,
    `load average ${load} (the benchmark's own work included)`,
    `${effort(benches)}; ${settings.motion} controls, seed ${settings.seed}`,
  ];
  return page(
    `corral bench, ${machine.cpu}, ${adapter}`,
    `<h1>corral bench</h1>
<ul>${facts.map((fact) => `<li>${escapeHtml(fact)}</li>`).join("")}</ul>
<p>Physics steps stay on the device, and so do the controls; env steps take actions from the host and bring observations,
rewards and flags back to it. MuJoCo makes the same steps from the same start states with the same controls and computes no
observations or rewards. Rates of the fastest batch; a ratio is that to MuJoCo's WebAssembly with one worker a core.</p>
${htmlTable(header, rows)}
${benches.map(section).join("\n")}
${loop ? `<h2>The loop of ${escapeHtml(loop.name)}</h2>\n<p>${escapeHtml(loop.note)}</p>\n${htmlTable(...splitOff(loopTable(loop)))}` : ""}`,
  );
}

const splitOff = ([header, ...rows]: readonly string[][]): [string[], string[][]] => [header, rows];

function section(b: Bench): string {
  const { rows, settings, growth } = b;
  const peers = peersOf(b);
  const charts = [
    lineChart({
      title: "Throughput",
      x: "worlds",
      y: "steps/s",
      series: [
        { label: "physics steps/s, all on the device", points: rows.map((r) => [r.numEnvs, r.physicsStepsPerSec]) },
        { label: "env steps/s, results on the host", points: rows.map((r) => [r.numEnvs, r.envStepsPerSec]) },
      ],
      levels: peers.map((p) => ({ label: `${p.what}, physics steps/s`, y: p.physicsStepsPerSec })),
    }),
    ...(b.firstStep
      ? [
          barChart(
            `Time to the first step of ${formatCount(b.firstStep.numEnvs)} worlds`,
            [
              { label: "cache empty", parts: phases(b.firstStep.cold) },
              { label: "cache filled", parts: phases(b.firstStep.warm) },
            ],
            ms,
          ),
        ]
      : []),
    ...(b.stages
      ? [
          barChart(
            `Device time of one evaluation of a world`,
            [{ label: "stages", parts: b.stages.parts.map((p) => [p.name, p.nanoseconds]) }],
            (ns) => `${ns.toFixed(0)} ns`,
          ),
        ]
      : []),
    barChart(
      `Bytes of a world`,
      [{ label: "fields", parts: b.bytes.map((f) => [f.name, f.bytesPerWorld]) }],
      formatBytes,
    ),
  ];
  const note = busyNote(b);
  const kept = `peak at ${formatCount(growth.peak)} worlds; ${(100 * growth.kept).toFixed(0)} % of it at the slowest larger batch`;
  const facts = [
    `${settings.frameSkip} x ${settings.timestep} s a control step; episodes of ${settings.episodeSteps} control steps`,
    `${b.contacts.toFixed(2)} contacts a world; ${peers.map((p) => `${p.what} ${p.meanContacts.toFixed(2)}`).join(", ")}`,
    kept,
    ...(b.refused
      ? [
          `${formatCount(b.refused.numEnvs)} worlds do not fit (${b.refused.code}); ${formatCount(b.refused.largest)} do`,
        ]
      : []),
    ...(b.left ? [leftOutText(b.left)] : []),
    ...(b.stages ? [b.stages.note] : []),
    ...("absent" in b.native ? [`native MuJoCo ${b.native.absent}`] : []),
    ...("absent" in b.jax ? [`MJX, Brax and MuJoCo Warp: ${b.jax.absent}`] : []),
  ];
  const made = rows.map((r) => [
    formatCount(r.numEnvs),
    formatCount(Math.round(r.physicsStepsPerSec)),
    `${formatCount(Math.round(r.physicsRange.min))} to ${formatCount(Math.round(r.physicsRange.max))}`,
    formatCount(Math.round(r.envStepsPerSec)),
    formatBytes(r.bytes),
    ms(r.firstStepMs),
  ]);
  const others = peers.map((p) => [
    p.what,
    formatCount(Math.round(p.physicsStepsPerSec)),
    `${formatCount(Math.round(p.physicsRange.min))} to ${formatCount(Math.round(p.physicsRange.max))}`,
    formatCount(Math.round(p.envStepsPerSec)),
  ]);
  const jax = "absent" in b.jax ? [] : b.jax.rows;
  const onGpu = jax.map((r) => [
    `${r.what}, ${formatCount(r.numEnvs)} worlds`,
    r.physicsStepsPerSec === null ? "" : formatCount(Math.round(r.physicsStepsPerSec)),
    "",
    formatCount(Math.round(r.envStepsPerSec)),
  ]);
  return `<h2>${escapeHtml(b.name)}</h2>
<ul>${facts.map((fact) => `<li>${escapeHtml(fact)}</li>`).join("")}</ul>
${note ? `<p class="note">${escapeHtml(note)}</p>` : ""}
<div class="charts">${charts.join("\n")}</div>
${htmlTable(["worlds", "physics steps/s", "from to", "env steps/s", "memory", "construct to first step"], made)}
${htmlTable(["peer", "physics steps/s", "from to", "control steps/s"], [...others, ...onGpu])}`;
}

const phases = (f: FirstStep): [string, number][] => {
  const known: [string, number][] = [
    ["MuJoCo loads the model", f.load],
    ["device", f.device],
    ["trace and emit", f.trace],
    ["Dawn", f.compile],
    ["driver, at the first dispatch", f.firstRun],
    ["reset and step", f.step],
  ];
  return [...known, ["other", f.total - known.reduce((sum, [, value]) => sum + value, 0)]];
};
