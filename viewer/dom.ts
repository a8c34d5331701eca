// what the parts of the page have in common: elements by id, and text that is never markup

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says which element an id is of
export const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

export const on = (element: HTMLElement, kind: "change" | "input" | "click", call: () => void): void =>
  element.addEventListener(kind, call);

export const option = (text: string, value: string): HTMLOptionElement =>
  Object.assign(document.createElement("option"), { textContent: text, value });

/** Told above the picture; "" takes it away. */
export function say(text: string): void {
  const note = get("note");
  note.textContent = text;
  note.hidden = text === "";
}

/** A box to check with words beside it. */
export function checkbox(
  into: HTMLElement,
  id: string,
  text: string,
  checked: boolean,
  call: (checked: boolean) => void,
): void {
  const input = Object.assign(document.createElement("input"), { type: "checkbox", id, checked });
  on(input, "change", () => call(input.checked));
  const label = document.createElement("label");
  label.append(input, ` ${text}`);
  into.append(label);
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** A number in few digits. */
export function digits(x: number, count = 4): string {
  if (!Number.isFinite(x)) return String(x);
  return Math.abs(x) < 1e6 ? String(Number(x.toPrecision(count))) : x.toExponential(count - 1);
}
