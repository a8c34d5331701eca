// lines of numbers over time, one for each name
import { digits, svg } from "./dom.ts";

const MOST_POINTS = 300;
/** A line is as wide as all once it has so many. */
const LEAST_POINTS = 50;
const HEIGHT = 50;

interface Line {
  readonly values: number[];
  readonly drawing: SVGSVGElement;
  readonly line: SVGPolylineElement;
  readonly label: HTMLElement;
}

export class Plots {
  readonly #into: HTMLElement;
  readonly #lines = new Map<string, Line>();

  constructor(into: HTMLElement) {
    this.#into = into;
  }

  add(values: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(values)) {
      const { values: kept, drawing, line, label } = this.#lines.get(name) ?? this.#make(name);
      kept.push(value);
      if (kept.length > MOST_POINTS) kept.shift();
      const finite = kept.filter(Number.isFinite);
      // of numbers that are all infinite, say, a level line
      const [low, high] = finite.length > 0 ? [Math.min(...finite), Math.max(...finite)] : [0, 0];
      const span = high - low || 1;
      const y = (x: number) => HEIGHT - 2 - ((HEIGHT - 4) * ((Number.isFinite(x) ? x : low) - low)) / span;
      drawing.setAttribute("viewBox", `0 0 ${Math.max(LEAST_POINTS, kept.length)} ${HEIGHT}`);
      line.setAttribute("points", kept.map((x, at) => `${at},${y(x).toFixed(1)}`).join(" "));
      const range = high > low ? ` (${digits(low, 3)} to ${digits(high, 3)})` : "";
      label.textContent = `${name} ${digits(value)}${range}`;
    }
  }

  clear(): void {
    for (const { values } of this.#lines.values()) values.length = 0;
  }

  remove(name: string): void {
    const found = this.#lines.get(name);
    found?.label.remove();
    found?.drawing.remove();
    this.#lines.delete(name);
  }

  #make(name: string): Line {
    const label = document.createElement("div");
    const drawing = svg("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
    const line = drawing.appendChild(svg("polyline", { class: "line0" }));
    this.#into.append(label, drawing);
    const made = { values: [], drawing, line, label };
    this.#lines.set(name, made);
    return made;
  }
}
