// lines of numbers over time, one for each name
import { digits, svg } from "./dom.ts";

const MOST_POINTS = 300;

export class Plots {
  readonly #into: HTMLElement;
  readonly #lines = new Map<string, { values: number[]; line: SVGPolylineElement; label: HTMLElement }>();

  constructor(into: HTMLElement) {
    this.#into = into;
  }

  add(values: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(values)) {
      const entry = this.#lines.get(name) ?? this.#make(name);
      entry.values.push(value);
      if (entry.values.length > MOST_POINTS) entry.values.shift();
      const finite = entry.values.filter(Number.isFinite);
      const [low, high] = [Math.min(...finite), Math.max(...finite)];
      const span = high - low || 1;
      const points = entry.values.map(
        (y, x) => `${x},${(48 - (46 * ((Number.isFinite(y) ? y : low) - low)) / span).toFixed(1)}`,
      );
      entry.line.setAttribute("points", points.join(" "));
      entry.label.textContent = `${name} ${digits(value)}`;
    }
  }

  clear(): void {
    for (const { values } of this.#lines.values()) values.length = 0;
  }

  #make(name: string) {
    const label = document.createElement("div");
    const drawing = svg("svg", { viewBox: `0 0 ${MOST_POINTS} 50`, preserveAspectRatio: "none" });
    const line = drawing.appendChild(svg("polyline"));
    this.#into.append(label, drawing);
    const entry = { values: [] as number[], line, label };
    this.#lines.set(name, entry);
    return entry;
  }
}
