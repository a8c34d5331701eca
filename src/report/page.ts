// reports as pages that are read without a network, on light and on dark screens
const COLORS = `
:root{color-scheme:light dark;--text:#222;--back:#fff;--grid:#d4d4d4;--level:#b91c1c;
--c0:#2563a8;--c1:#c05a1c;--c2:#3a8a4d;--c3:#8a4da8;--c4:#a88a1c;--c5:#4a9aa0;--c6:#a0405f;--c7:#777}
@media(prefers-color-scheme:dark){:root{--text:#ddd;--back:#16181c;--grid:#3a3d44;--level:#f87171;
--c0:#6ea8e8;--c1:#e8955a;--c2:#72c487;--c3:#c48ae0;--c4:#d8bd55;--c5:#7fcdd3;--c6:#e08aa5;--c7:#999}}`;

const STYLE = `${COLORS}
body{font:15px/1.45 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
td,th{padding:.25rem .6rem;border-bottom:1px solid var(--grid);text-align:right;vertical-align:bottom;font-variant-numeric:tabular-nums}
td{white-space:nowrap}td.text{white-space:normal}
td.text,th.text{text-align:left}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--text)}
.charts{display:flex;flex-wrap:wrap;gap:1rem}.note{color:var(--level)}`;

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A page of its own; `body` is HTML. */
export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head><body>
${body}
</body></html>
`;

/** A chart as a file of its own, with the colours that its page gives it otherwise. */
export const standaloneSvg = (chart: string): string =>
  `${chart.replace(/^<svg ([^>]*)>/, `<svg xmlns="http://www.w3.org/2000/svg" $1 font-family="system-ui,sans-serif" font-size="12"><style>${COLORS}\ntext{fill:var(--text)}</style>`)}\n`;

/** A table of texts; columns of `texts` are to the left, the others numbers. */
export function htmlTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  texts: readonly number[] = [0],
): string {
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell, i) => `<${tag}${texts.includes(i) ? ' class="text"' : ""}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;
  return `<table>${row(header, "th")}${rows.map((cells) => row(cells, "td")).join("")}</table>`;
}
