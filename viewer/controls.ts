// the controls around the picture
import { SHOWN, type Shown } from "../src/render/show.ts";
import type { Command, Facts, Frame } from "../src/view/messages.ts";
import { checkbox, digits, get, on, option } from "./dom.ts";
import type { Looking } from "../src/view/looking.ts";

/** What controls change. */
export interface Controlled {
  readonly facts: Facts;
  readonly frame: Frame;
  readonly looking: Looking;
  shown: Shown;
  labels: boolean;
  /** Worlds that are not drawn. */
  hidden: ReadonlySet<number>;
  act(command: Command): void;
  draw(): void;
  /** Tells whether contacts are shown or plotted. */
  askContacts(): void;
  /** Another world is looked at. */
  look(world: number): void;
}

const TOGGLES = {
  contacts: "contacts",
  forces: "contact forces",
  joints: "joints",
  frames: "frames",
  centres: "centres of mass",
  inertia: "inertia boxes",
  tendons: "tendons",
  sites: "sites",
  fields: "height fields",
  clear: "transparent",
  textures: "textures and lights",
  labels: "labels",
} as const;

export function makeControls(page: Controlled): void {
  makeLooks(page);
  makeActions(page);
  makeClock(page);
}

function makeLooks(page: Controlled): void {
  const { facts, looking } = page;
  const set = (change: Partial<Shown>) => {
    page.shown = { ...page.shown, ...change };
    page.draw();
  };
  const camera = get<HTMLSelectElement>("camera");
  camera.append(option("free", "free"), option("tracking", "tracking"));
  facts.scene.cameras.forEach(({ name }, i) => camera.append(option(name || `camera ${i}`, String(i))));
  camera.value = looking.mode;
  on(camera, "change", () => {
    looking.mode = camera.value;
    page.draw();
  });
  const world = get<HTMLInputElement>("world");
  world.max = String(facts.worlds - 1);
  on(world, "change", () => {
    const chosen = Math.min(facts.worlds - 1, Math.max(0, Math.round(Number(world.value)) || 0));
    world.value = String(chosen);
    page.look(chosen);
  });
  const ghost = get<HTMLSelectElement>("ghost");
  get("ghosts").hidden = !facts.ghosts;
  on(ghost, "change", () => {
    looking.places = ghost.value === "beside" ? facts.places?.map((_, i) => i) : facts.places;
    page.hidden = new Set(ghost.value === "none" ? facts.ghosts : []);
    page.draw();
  });
  const geoms = get<HTMLSelectElement>("geoms");
  on(geoms, "change", () => set({ geoms: geoms.value as Shown["geoms"] }));
  for (const [name, text] of Object.entries(TOGGLES)) {
    const checked = name !== "labels" && SHOWN[name as keyof Shown] === true;
    checkbox(get("toggles"), `show-${name}`, text, checked, (isOn) => {
      if (name === "labels") page.labels = isOn;
      else set({ [name]: isOn });
      page.draw();
      if (name === "contacts" || name === "forces") page.askContacts();
    });
  }
  for (let group = 0; group < 6; group++)
    checkbox(get("groups"), `group-${group}`, String(group), ((SHOWN.groups >> group) & 1) === 1, (isOn) =>
      set({ groups: isOn ? page.shown.groups | (1 << group) : page.shown.groups & ~(1 << group) }),
    );
}

function makeActions(page: Controlled): void {
  const { facts } = page;
  get("acting").hidden = facts.actors.length === 0;
  const actor = get<HTMLSelectElement>("actor");
  facts.actors.forEach((name, i) => actor.append(option(name, String(i))));
  actor.value = String(facts.actors.indexOf(page.frame.facts.actor));
  on(actor, "change", () => page.act({ do: "actor", value: Number(actor.value) }));
  facts.actions.forEach(({ name, low, high, whole }, index) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: String(low), max: String(high), step: whole ? "1" : "any" });
    input.value = String(Math.min(high, Math.max(low, 0)));
    input.id = `slider-${index}`;
    const told = document.createElement("output");
    told.textContent = digits(Number(input.value), 3);
    on(input, "input", () => {
      told.textContent = digits(Number(input.value), 3);
      actor.value = String(facts.actors.indexOf("sliders"));
      page.act({ do: "actor", value: Number(actor.value) });
      page.act({ do: "slider", index, value: Number(input.value) });
    });
    const text = document.createElement("span");
    text.textContent = name;
    label.append(text, input, told);
    get("sliders").append(label);
  });
  get("keys").hidden = facts.keyframes.length === 0;
  const keyframe = get<HTMLSelectElement>("keyframe");
  keyframe.append(option("", ""));
  facts.keyframes.forEach((name, i) => keyframe.append(option(name, String(i))));
  on(keyframe, "change", () => keyframe.value !== "" && page.act({ do: "keyframe", value: Number(keyframe.value) }));
}

function makeClock(page: Controlled): void {
  const { facts } = page;
  get("seeking").hidden = facts.steps === 0;
  const seek = get<HTMLInputElement>("seek");
  seek.max = String(facts.steps);
  on(seek, "input", () => {
    // a recording that the page holds shows its step at once, in the slider too
    const value = Number(seek.value);
    page.act({ do: "pause" });
    page.act({ do: "seek", value });
  });
  const speed = get<HTMLInputElement>("speed");
  on(speed, "input", () => page.act({ do: "speed", value: 2 ** Number(speed.value) }));
  on(get("play"), "click", () => page.act({ do: page.frame.facts.paused ? "play" : "pause" }));
  for (const what of ["step", "back", "reset"] as const) on(get(what), "click", () => page.act({ do: what }));
}
