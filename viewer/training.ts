// a run that trains: curves over env steps, throughput, memory by holder, episodes as they end
import { fromJson } from "../src/view/messages.ts";
import type { RunFacts, RunNumbers, RunPoint } from "../src/view/run-messages.ts";
import { digits, get, svg } from "./dom.ts";

/** Curves that come first; then whatever else there is. */
const FIRST = ["rollout/ep_rew_mean", "eval/mean_reward", "rollout/ep_len_mean", "time/fps"];
/** Updates whose episodes are listed. */
const LISTED = 30;
const HEIGHT = 50;

const whole = (x: number): string => Math.round(x).toLocaleString("en");
const bytesText = (bytes: number): string => {
  const unit = bytes >= 2 ** 30 ? 30 : bytes >= 2 ** 20 ? 20 : 10;
  return `${digits(bytes / 2 ** unit, 3)} ${{ 10: "KiB", 20: "MiB", 30: "GiB" }[unit]}`;
};

const item = (text: string): HTMLElement => {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
};

/** A curve over env steps, with its name and its last value. */
function curve(points: readonly RunPoint[], name: string, steps: number): Element {
  const known = points.flatMap(({ envSteps, numbers }) => (name in numbers ? [[envSteps, numbers[name]]] : []));
  const values = known.map(([, y]) => y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (value: number) => HEIGHT - 1 - ((HEIGHT - 2) * (value - low)) / (high - low || 1);
  const label = document.createElement("div");
  label.textContent = `${name} ${digits(values[values.length - 1])} (${digits(low)} to ${digits(high)})`;
  const drawing = svg("svg", { viewBox: `0 0 ${steps} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  drawing.setAttribute("aria-label", name);
  drawing.append(
    svg("polyline", { class: "line0", points: known.map(([x, value]) => `${x},${y(value).toFixed(1)}`).join(" ") }),
  );
  const both = document.createElement("div");
  both.append(label, drawing);
  return both;
}

/** Follows the run for as long as the page is there; `onEnd` is told where it has ended. */
export async function showRun({ steps, memory }: RunFacts, onEnd: (text: string) => void): Promise<void> {
  get("run").hidden = false;
  const total = memory.reduce((sum, [, bytes]) => sum + bytes, 0);
  const rows = [...memory, ["all", total] as const].map(([name, bytes]) => {
    const row = document.createElement("tr");
    for (const text of [name, bytesText(bytes)]) row.insertCell().textContent = text;
    return row;
  });
  get("run-memory").append(...rows);
  let serial = 0;
  for (;;) {
    try {
      const response = await fetch(`run?after=${serial}`);
      if (response.status === 200) {
        const numbers = fromJson(await response.text()) as RunNumbers;
        serial = numbers.serial;
        show(numbers, steps);
      } else if (!response.ok) throw new Error(String(response.status));
    } catch {
      onEnd("The run has ended.");
      return;
    }
  }
}

function show({ points, events }: RunNumbers, steps: number): void {
  get("run-events").replaceChildren(...events.map(item));
  const last = points[points.length - 1];
  if (last === undefined) return;
  const { iteration, envSteps, secondsLeft, numbers } = last;
  get("run-now").textContent =
    `update ${iteration}: ${whole(envSteps)} of ${whole(steps)} env steps, ${whole(numbers["time/fps"])} a second, ${Math.ceil(secondsLeft)} s left`;
  const names = new Set([...FIRST, ...points.flatMap((point) => Object.keys(point.numbers))]);
  const drawn = [...names].filter((name) => points.some((point) => name in point.numbers));
  get("run-curves").replaceChildren(...drawn.map((name) => curve(points, name, steps)));
  const ended = points.filter((point) => point.numbers["rollout/episodes"] > 0).slice(-LISTED);
  get("run-episodes").replaceChildren(
    ...ended.toReversed().map((point) => {
      const of = point.numbers;
      const count = of["rollout/episodes"];
      const made = item(
        `${whole(count)} ended: return ${digits(of["rollout/ep_rew_mean"])}, length ${digits(of["rollout/ep_len_mean"])}`,
      );
      made.setAttribute("value", String(point.iteration));
      return made;
    }),
  );
}
