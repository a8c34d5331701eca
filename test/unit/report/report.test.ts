import { describe, expect, test } from "vitest";
import { lineChart } from "../../../src/report/chart.ts";
import { reportPage } from "../../../src/runs/report.ts";

const line = (values: object): string => JSON.stringify(values);

describe("the page of a run", () => {
  const facts = {
    config: { env: "A<b>", algo: "ppo", seed: 3, hidden: [8, 8] },
    device: "some device",
    memory: [
      ["environments", 2048],
      ["learner", 1024],
    ] as const,
  };
  const update = (i: number) => ({ envSteps: 64 * i, iteration: i, seconds: i, episodeReturn: -i, kl: null, std: 0.5 });

  test("has the curves, events and settings of the log, and nothing of the network", () => {
    const log = [
      ...Array.from({ length: 1000 }, (_, i) => line({ ...update(i + 1), rewardsClipped: 2 })),
      line({ event: "resumed", iteration: 1000, message: "goes on" }),
      line({ end: true, error: { code: "stopped", message: "it was <stopped>" } }),
    ];
    const html = reportPage(`${log.join("\n")}\n`, facts);
    for (const part of ["A&lt;b&gt;", "64,000", "3.00 KiB", "Return", "goes on", "it was &lt;stopped&gt;", "2,000"])
      expect(html).toContain(part);
    expect(html).not.toContain("Temperature");
    expect(html).not.toMatch(/https?:|NaN|undefined/);
    // a thousand updates are a curve of 250 points
    expect(/<polyline points="([^"]*)"/.exec(html)![1].split(" ")).toHaveLength(250);
  });

  test("of a run that ended before its first update", () => {
    expect(reportPage("", facts)).toContain("none");
  });
});

test("linear axes have round ticks, of negative numbers and of one point too", () => {
  const ticks = (points: [number, number][]) => {
    const svg = lineChart({ title: "", x: "", y: "", series: [{ label: "", points }], format: String, axes: "linear" });
    return [...svg.matchAll(/text-anchor="end">([^<]*)</g)].map(([, text]) => Number(text));
  };
  expect(
    ticks([
      [0, -3],
      [10, 7],
    ]),
  ).toEqual([-4, -2, 0, 2, 4, 6, 8]);
  expect(ticks([[5, 0]]).length).toBeGreaterThan(1);
  expect(ticks([[5, Number.NaN]])).toEqual([]);
});
