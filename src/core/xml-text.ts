// what an attribute of XML says, and how a text is written into one
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** A text as an attribute in double quotes has it. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** What an attribute says. */
export const unescaped = (text: string): string =>
  text.replace(/&(?:(lt|gt|quot|apos|amp)|#(?:x([\da-f]{1,5})|(\d{1,6})));/gi, (whole, name, hex, decimal) => {
    if (name !== undefined) return ENTITIES[name as string] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : parseInt(hex as string, 16));
  });
