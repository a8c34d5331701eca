// draws what curves.py found: npx tsx bench/python/curves-picture.ts CURVES.json PICTURE.svg
import { readFileSync, writeFileSync } from "node:fs";
import { lineChart } from "../../src/report/chart.ts";
import { standaloneSvg } from "../../src/report/page.ts";

interface Curves {
  readonly env: string;
  readonly curves: Readonly<Record<string, readonly (readonly [number, number])[]>>;
}

const LABELS: Readonly<Record<string, string>> = {
  "sb3_ppo.py": "Stable-Baselines3",
  "cleanrl_ppo.py": "CleanRL",
  "rsl_rl_ppo.py": "rsl_rl",
  "torchrl_ppo.py": "TorchRL",
  "rllib_ppo.py": "RLlib",
  "ray_ppo.py": "Ray actors",
};

const [from, to] = process.argv.slice(2);
const { env, curves } = JSON.parse(readFileSync(from, "utf8")) as Curves;
const series = Object.entries(curves).map(([name, points]) => ({ label: LABELS[name] ?? name, points }));
const format = (value: number) => String(Math.round(value));
const title = `${env}, PPO of other learners on corral`;
writeFileSync(
  to,
  standaloneSvg(
    lineChart({ title, x: "env steps", y: "mean return of last episodes", series, axes: "linear", format }),
  ),
);
