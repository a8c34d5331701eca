// the steps of what is recorded as lines over time: a click goes there, pointing tells the numbers
import type { Timeline } from "../src/view/messages.ts";
import { digits, get, svg } from "./dom.ts";

/** Units of the drawing. */
const HEIGHT = 60;
/** Logarithms are drawn down to this. */
const LEAST = 1e-9;

export class Timelines {
  readonly #cursor: SVGLineElement;
  readonly #timeline: Timeline;
  #hovered: number | undefined;
  #step = 0;

  constructor(timeline: Timeline, steps: number, go: (step: number) => void) {
    this.#timeline = timeline;
    const width = Math.max(1, steps);
    const box = { viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: "none", id: "timeline-lines" };
    const drawing = svg("svg", {
      ...box,
      role: "img",
      "aria-label": "numbers over the steps; the slider goes to a step",
    });
    timeline.lines.forEach(({ values, log }, i) => {
      const placed = values.map((x) => (x === null ? undefined : log ? Math.log10(Math.max(LEAST, Math.abs(x))) : x));
      const finite = placed.filter((x): x is number => x !== undefined && Number.isFinite(x));
      const [low, high] = [Math.min(...finite), Math.max(...finite)];
      const y = (x: number) =>
        HEIGHT - 2 - ((HEIGHT - 4) * ((Number.isFinite(x) ? x : high) - low)) / (high - low || 1);
      const points = placed.flatMap((x, t) => (x === undefined ? [] : [`${t},${y(x).toFixed(1)}`]));
      drawing.append(svg("polyline", { points: points.join(" "), class: `line${i % 6}` }));
    });
    for (const { at } of timeline.marks)
      drawing.append(svg("line", { x1: String(at), x2: String(at), y1: "0", y2: String(HEIGHT), class: "mark" }));
    this.#cursor = svg("line", { y1: "0", y2: String(HEIGHT), class: "cursor" });
    drawing.append(this.#cursor);
    const stepAt = (event: MouseEvent) => {
      const { left, width: pixels } = drawing.getBoundingClientRect();
      return Math.min(steps, Math.max(0, Math.round((steps * (event.clientX - left)) / Math.max(1, pixels))));
    };
    drawing.addEventListener("click", (event) => go(stepAt(event)));
    drawing.addEventListener("pointermove", (event) => this.#tell(stepAt(event)));
    drawing.addEventListener("pointerleave", () => this.#tell(undefined));
    get("timeline").prepend(drawing);
    get("timeline").hidden = false;
  }

  show(step: number): void {
    this.#step = step;
    this.#cursor.setAttribute("x1", String(step));
    this.#cursor.setAttribute("x2", String(step));
    this.#tell(this.#hovered);
  }

  /** The numbers of a step; of the one that is shown where none is pointed at. */
  #tell(hovered: number | undefined): void {
    this.#hovered = hovered;
    const at = hovered ?? this.#step;
    const { lines, marks } = this.#timeline;
    const rows = lines.flatMap(({ name, values }, i) => {
      const value = values[at] ?? undefined;
      if (value === undefined) return [];
      const row = document.createElement("span");
      row.className = `line${i % 6}`;
      row.textContent = `${name} ${digits(value)}`;
      return [row];
    });
    const step = document.createElement("span");
    const said = marks.filter((mark) => mark.at === at).map(({ text }) => text);
    step.textContent = [`step ${at}`, ...said].join(": ");
    get("timeline-now").replaceChildren(step, ...rows);
  }
}
