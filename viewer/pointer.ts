// the mouse and the keys over the picture: turn, move, near, choose, pull
import type { Command, Facts } from "../src/view/messages.ts";
import { get } from "./dom.ts";
import type { Looking } from "../src/view/looking.ts";
import type { Picked } from "./pick.ts";

/** What is pulled, and where to. */
export interface Pull {
  readonly picked: Picked;
  readonly target: readonly number[];
}

/** What the pointer moves. */
export interface Pointed {
  readonly facts: Facts;
  readonly looking: Looking;
  pull: Pull | undefined;
  act(command: Command): void;
  draw(): void;
  /** What is under a point of the canvas, x and y in [-1, 1]; the ray, and its eye. */
  at(
    x: number,
    y: number,
  ): { readonly eye: readonly number[]; readonly along: readonly number[]; pick(): Picked | undefined };
  choose(found: Picked | undefined): void;
  /** Tells of what is pointed at, at a pixel of the view. */
  hover(found: Picked | undefined, left: number, top: number): void;
}

/** Pixels that an arrow key turns by. */
const KEY_PIXELS = 20;

export function listen(page: Pointed, element: HTMLCanvasElement): void {
  const { looking } = page;
  const turned = (dx: number, dy: number) => (event: KeyboardEvent) => {
    looking.turn(KEY_PIXELS * dx, KEY_PIXELS * dy, event.altKey);
    page.draw();
  };
  const near = (factor: number) => () => {
    looking.near(factor);
    page.draw();
  };
  const keys: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
    " ": () => get("play").click(),
    ArrowRight: () => page.act({ do: "step" }),
    ArrowLeft: () => page.act({ do: "back" }),
    Backspace: () => page.act({ do: "reset" }),
    a: turned(1, 0),
    d: turned(-1, 0),
    w: turned(0, 1),
    s: turned(0, -1),
    "+": near(0.9),
    "-": near(1 / 0.9),
    h: () => {
      looking.home();
      page.draw();
    },
  };
  addEventListener("keydown", (event) => {
    const at = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    if (["INPUT", "SELECT", "BUTTON"].includes(at.tagName)) return;
    event.preventDefault();
    keys[event.key](event);
  });

  const rayAt = (event: MouseEvent) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return page.at((2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height);
  };
  let held: { x: number; y: number; far: number } | undefined;
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    element.focus();
    const found = rayAt(event).pick();
    held = { x: event.clientX, y: event.clientY, far: found?.distance ?? 0 };
    page.choose(found);
    page.hover(undefined, 0, 0);
    if (event.ctrlKey && found && found.body > 0 && page.facts.kind === "live")
      page.pull = { picked: found, target: found.at };
  });
  element.addEventListener("pointermove", (event) => {
    if (!held) {
      const { left, top } = element.getBoundingClientRect();
      page.hover(rayAt(event).pick(), event.clientX - left, event.clientY - top);
      return;
    }
    const { x, y, far } = held;
    held = { x: event.clientX, y: event.clientY, far };
    if (page.pull) {
      const { picked } = page.pull;
      const { eye, along } = rayAt(event);
      const target = eye.map((e, i) => e + far * along[i]);
      page.pull = { picked, target };
      const { world, body, local } = picked;
      const offset = looking.offset(world);
      page.act({ do: "drag", world, body, point: [...local], target: target.map((t, i) => t - offset[i]) });
    } else looking.turn(event.clientX - x, event.clientY - y, event.shiftKey || event.buttons === 2);
    page.draw();
  });
  const release = () => {
    if (page.pull) page.act({ do: "release" });
    page.pull = held = undefined;
    page.draw();
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => page.hover(undefined, 0, 0));
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      near(Math.exp(0.001 * event.deltaY))();
    },
    { passive: false },
  );
}
