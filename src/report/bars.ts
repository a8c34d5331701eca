// horizontal bars of parts as SVG: where time and bytes go
import { legend } from "./legend.ts";
import { escapeHtml } from "./page.ts";

/** One bar: parts by name, in order. */
export interface Bar {
  readonly label: string;
  readonly parts: readonly (readonly [name: string, value: number])[];
}

const WIDTH = 640;
const LEFT = 96;
const RIGHT = 90;
const TOP = 34;
const THICK = 24;
const COLORS = 8;

/** Bars from one zero on, their parts in colours named below. Parts that are not positive are left out. */
export function barChart(title: string, bars: readonly Bar[], format: (value: number) => string): string {
  const sums = bars.map((bar) => bar.parts.reduce((sum, [, value]) => sum + Math.max(0, value), 0));
  const most = Math.max(...sums);
  if (!(most > 0)) return "";
  const scale = (WIDTH - LEFT - RIGHT) / most;
  const names = [...new Set(bars.flatMap((bar) => bar.parts.filter(([, value]) => value > 0).map(([name]) => name)))];
  const color = (name: string) => `var(--c${names.indexOf(name) % COLORS})`;
  const out = [
    `<text x="${WIDTH / 2}" y="18" text-anchor="middle" font-weight="600" font-size="14">${escapeHtml(title)}</text>`,
  ];

  bars.forEach(({ label, parts }, k) => {
    const y = TOP + k * (THICK + 8);
    out.push(`<text x="${LEFT - 8}" y="${y + 16}" text-anchor="end">${escapeHtml(label)}</text>`);
    let x = LEFT;
    for (const [name, value] of parts) {
      if (!(value > 0)) continue;
      const width = value * scale;
      const tip = escapeHtml(`${label}, ${name}: ${format(value)}`);
      out.push(
        `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${THICK}" fill="${color(name)}"><title>${tip}</title></rect>`,
      );
      x += width;
    }
    out.push(`<text x="${(x + 6).toFixed(1)}" y="${y + 16}">${escapeHtml(format(sums[k]))}</text>`);
  });

  const items = names.map((name) => ({ label: name, color: color(name) }));
  const { svg, bottom } = legend(items, LEFT, TOP + bars.length * (THICK + 8) + 16, WIDTH);
  return `<svg viewBox="0 0 ${WIDTH} ${bottom}" width="${WIDTH}" role="img" aria-label="${escapeHtml(title)}">${out.join("")}${svg}</svg>`;
}
