// what the colours of a chart mean, below it
import { escapeHtml } from "./page.ts";

const LINE = 18;

export interface LegendItem {
  readonly label: string;
  readonly color: string;
  /** A dashed line instead of a field of colour. */
  readonly dashed?: boolean;
}

/** Items side by side from `left`, as many a line as end before `right`; `bottom` is below the last. */
export function legend(items: readonly LegendItem[], left: number, top: number, right: number) {
  const out: string[] = [];
  let [x, y] = [left, top];
  for (const { label, color, dashed } of items) {
    const width = 28 + 6.6 * label.length;
    if (x > left && x + width > right) [x, y] = [left, y + LINE];
    out.push(
      dashed
        ? `<line x1="${x}" y1="${y - 4}" x2="${x + 12}" y2="${y - 4}" stroke="${color}" stroke-width="2" stroke-dasharray="4 3"/>`
        : `<rect x="${x}" y="${y - 10}" width="11" height="11" fill="${color}"/>`,
      `<text x="${x + 16}" y="${y}">${escapeHtml(label)}</text>`,
    );
    x = Math.round(x + width);
  }
  return { svg: out.join(""), bottom: y + 12 };
}
