import { expect, test } from "vitest";
import {
  curvesChart,
  curvesSection,
  evaluationAt,
  returnAt,
  spreadOf,
  withSection,
  type CurveRun,
  type Curves,
} from "../../../bench/learning-page.ts";

const run = (seed: number, gain: number): CurveRun => ({
  seed,
  points: [
    { envSteps: 50_000, episodes: 0, episodeReturn: null },
    { envSteps: 100_000, episodes: 60, episodeReturn: 10 * gain },
    { envSteps: 150_000, episodes: 60, episodeReturn: 20 * gain },
    { envSteps: 200_000, episodes: 200, episodeReturn: 40 * gain },
  ],
  evaluations: [
    [120_000, 15 * gain],
    [200_000, 50 * gain],
  ],
  evalEpisodes: 32,
  seconds: 10 * gain,
  load: 1,
  date: "2026-01-01",
});

const curves: Curves = {
  env: "Reach",
  numEnvs: 64,
  steps: 200_000,
  config: {},
  machine: { cpu: "cpu", cores: 2, driver: "llvmpipe: Mesa" },
  runs: [run(0, 1), run(1, 3), run(2, 2)],
};
const peer = {
  who: "Peer",
  what: "Reach, 1 M",
  kind: "return" as const,
  value: 33,
  spread: 4,
  seconds: 60,
  source: "https://example.org",
};

test("a return is the mean of the last hundred episodes that ended by then", () => {
  const one = run(0, 1);
  expect(returnAt(one, 50_000)).toBeUndefined();
  expect(returnAt(one, 149_999)).toBe(10);
  expect(returnAt(one, 150_000)).toBe(15);
  expect(returnAt(one, 1e9)).toBe(40);
  expect(evaluationAt(one, 119_999)).toBeUndefined();
  expect(evaluationAt(one, 199_999)).toBe(15);
});

test("spreads leave out seeds without a value", () => {
  expect(spreadOf([4, undefined, 1, 2.4])).toEqual(["2", "1", "2", "4"]);
  expect(spreadOf([4, 1])).toEqual(["3", "1", "3", "4"]);
  expect(spreadOf([undefined])).toEqual(["–", "–", "–", "–"]);
});

test("a section has a row for each budget, the end of the run and each peer, and replaces itself", () => {
  const section = curvesSection(curves, [peer], "learning.svg");
  expect(section).toContain("| 100,000 | 20 | 10 | 20 | 30 | – (–, –, –) |  |");
  expect(section).toContain("| 200,000 | 80 | 40 | 80 | 120 | 100 (50, 100, 150) | 20 |");
  expect(section).toContain("| [Peer](https://example.org), Reach, 1 M | 33 ± 4 |  |  |  |  | 60 |");
  const page = withSection("# Reach\n", section);
  expect(withSection(page, section)).toBe(page);
  expect(withSection(page, "new")).toBe("# Reach\n\nnew\n");
});

test("a chart is a file of its own, with a curve for each seed and a level for each peer", () => {
  const chart = curvesChart(curves, [peer]);
  expect(chart).toMatch(/^<svg xmlns="[^"]+"[^>]*><style>/);
  expect(chart.match(/<polyline/g)).toHaveLength(3);
  expect(chart).toContain("Peer, return: 33");
});
