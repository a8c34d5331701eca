// the page of corral view: controls around one picture
import { freeView, pixelOf, projectionOf, type FreeCamera, type Point, type View } from "../src/render/camera.ts";
import { DrawList } from "../src/render/draw-list.ts";
import { cameraView } from "../src/render/camera-view.ts";
import { BODY_FLOATS, offsetOf, SHOWN, showWorlds, addArrow, type Shown } from "../src/render/show.ts";
import type { Command, Frame } from "../src/view/messages.ts";
import { Canvas } from "./canvas.ts";
import { pick, rayOf, type Picked } from "./pick.ts";
import { Plots } from "./plots.ts";
import { openSource, type Source } from "./source.ts";

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says which element an id is of
const get = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

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
  labels: "labels",
} as const;

const on = (element: HTMLElement, kind: "change" | "input" | "click", call: () => void): void =>
  element.addEventListener(kind, call);

/** Told above the picture; "" takes it away. */
function say(text: string): void {
  const note = get("note");
  note.textContent = text;
  note.hidden = text === "";
}

class Page {
  readonly #source: Source;
  readonly #canvas: Canvas | undefined;
  readonly #list = new DrawList();
  readonly #plots = new Plots(get("lines"));
  #shown: Shown = SHOWN;
  #labels = false;
  #camera: FreeCamera;
  /** "free", "tracking", or the place of a camera of the model. */
  #mode: string = "tracking";
  #world = 0;
  #frame: Frame;
  #picked: Picked | undefined;
  #pull: { readonly picked: Picked; target: readonly number[] } | undefined;
  #drawn = false;

  constructor(source: Source, canvas: Canvas | undefined, frame: Frame) {
    this.#source = source;
    this.#canvas = canvas;
    this.#frame = frame;
    const { facts } = source;
    this.#camera = facts.home;
    if (facts.worlds > 1) this.#mode = "free";
    get("title").textContent = facts.title;
    get("device").textContent = `${facts.worlds} world${facts.worlds === 1 ? "" : "s"}, ${facts.device}`;
    document.title = facts.title;
    this.#makeControls();
    this.#listen();
  }

  #act(command: Command): void {
    this.#source.act(command);
  }

  /** A new frame. */
  show(frame: Frame): void {
    const { facts } = frame;
    if (facts.step !== this.#frame.facts.step) this.#plots.add(facts.plots);
    this.#frame = frame;
    get("play").textContent = facts.paused ? "play" : "pause";
    get("now").textContent = `step ${facts.step}, ${facts.time.toFixed(3)} s, speed ${facts.speed.toFixed(2)}`;
    get<HTMLButtonElement>("back").disabled = facts.back === 0;
    get<HTMLInputElement>("seek").value = String(facts.step);
    if (facts.said !== undefined) say(facts.said);
    this.draw();
  }

  /** Draws once before the next picture of the browser. */
  draw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    requestAnimationFrame(() => {
      this.#drawn = false;
      this.#paint();
    });
  }

  get #places(): readonly number[] | undefined {
    return this.#source.facts.places;
  }

  /** Where a world stands. */
  #offset(world: number): number[] {
    const { worlds, radius } = this.#source.facts;
    const places = this.#places;
    return offsetOf(places?.[world] ?? world, places ? Math.max(...places) + 1 : worlds, radius);
  }

  #view(): View {
    const { scene } = this.#source.facts;
    const { poses } = this.#frame;
    const offset = this.#offset(this.#world);
    if (this.#mode !== "free" && this.#mode !== "tracking") {
      const view = cameraView(scene, Number(this.#mode), poses.cameras);
      const moved = (p: Point): Point => [p[0] + offset[0], p[1] + offset[1], p[2]];
      return { ...view, eye: moved(view.eye), target: moved(view.target) };
    }
    if (this.#mode === "free") return freeView(this.#camera);
    const body = this.#picked?.body ?? scene.bodies.findIndex(({ moves }) => moves);
    const at = (this.#world * scene.bodies.length + Math.max(0, body)) * BODY_FLOATS;
    const [x, y] = [poses.bodies[at] + offset[0], poses.bodies[at + 1] + offset[1]];
    const { lookat } = this.#camera;
    return freeView({ ...this.#camera, lookat: Number.isFinite(x + y) ? [x, y, lookat[2]] : lookat });
  }

  #paint(): void {
    const { facts } = this.#source;
    const { poses } = this.#frame;
    const { bad, ghosts } = facts;
    showWorlds(this.#list, facts.scene, poses, facts.radius, this.#shown, {
      ...(this.#picked ? { chosen: this.#picked } : {}),
      ...(bad && this.#frame.facts.step >= bad.step ? { bad } : {}),
      ...(ghosts ? { ghosts: new Set(ghosts) } : {}),
      ...(this.#places ? { places: this.#places } : {}),
    });
    if (this.#pull) {
      const from = this.#placeOf(this.#pull.picked);
      const along = this.#pull.target.map((x, i) => x - from[i]);
      addArrow(this.#list, from, along, 0.01 * facts.radius, [1, 0.8, 0.2, 1]);
    }
    const view = this.#view();
    this.#canvas?.draw(this.#list, view, facts.reach);
    this.#label(view);
  }

  /** Where a point of a body is now, in the picture's world. */
  #placeOf({ world, body, local }: Picked): number[] {
    const { scene } = this.#source.facts;
    const at = (world * scene.bodies.length + body) * BODY_FLOATS;
    const [x, y, z, w, a, b, c] = this.#frame.poses.bodies.subarray(at, at + BODY_FLOATS);
    const offset = this.#offset(world);
    // q p q^-1
    const t = [b * local[2] - c * local[1], c * local[0] - a * local[2], a * local[1] - b * local[0]].map((v) => 2 * v);
    const turned = [
      local[0] + w * t[0] + b * t[2] - c * t[1],
      local[1] + w * t[1] + c * t[0] - a * t[2],
      local[2] + w * t[2] + a * t[1] - b * t[0],
    ];
    return [x + offset[0] + turned[0], y + offset[1] + turned[1], z + turned[2]];
  }

  /** Names of bodies beside them: text, whatever they hold. */
  #label(view: View): void {
    const into = get("labels");
    const { scene, reach } = this.#source.facts;
    const wanted = this.#labels && this.#canvas ? scene.bodies : [];
    const [width, height] = [into.clientWidth, into.clientHeight];
    const matrix = projectionOf(view, width / Math.max(1, height), 0.01 * reach, 100 * reach);
    const spans = wanted.flatMap(({ name }, body) => {
      const point = this.#placeOf({
        world: this.#world,
        body,
        local: [0, 0, 0],
        at: [],
        distance: 0,
      }) as unknown as Point;
      const pixel = body === 0 || name === "" ? undefined : pixelOf(matrix, point, width, height);
      if (pixel === undefined) return [];
      const span = document.createElement("span");
      span.textContent = name;
      span.style.left = `${pixel[0]}px`;
      span.style.top = `${pixel[1]}px`;
      return [span];
    });
    into.replaceChildren(...spans);
  }

  #makeControls(): void {
    const { facts } = this.#source;
    const option = (text: string, value: string) =>
      Object.assign(document.createElement("option"), { textContent: text, value });
    const camera = get<HTMLSelectElement>("camera");
    camera.append(option("free", "free"), option("tracking", "tracking"));
    facts.scene.cameras.forEach(({ name }, i) => camera.append(option(name || `camera ${i}`, String(i))));
    camera.value = this.#mode;
    on(camera, "change", () => {
      this.#mode = camera.value;
      this.draw();
    });
    const world = get<HTMLInputElement>("world");
    world.max = String(facts.worlds - 1);
    on(world, "change", () => {
      this.#world = Math.min(facts.worlds - 1, Math.max(0, Math.round(Number(world.value)) || 0));
      world.value = String(this.#world);
      this.#plots.clear();
      this.#act({ do: "world", value: this.#world });
      this.draw();
    });
    const geoms = get<HTMLSelectElement>("geoms");
    on(geoms, "change", () => this.#set({ geoms: geoms.value as Shown["geoms"] }));
    const box = (into: HTMLElement, id: string, text: string, checked: boolean, call: (checked: boolean) => void) => {
      const input = Object.assign(document.createElement("input"), { type: "checkbox", id, checked });
      on(input, "change", () => call(input.checked));
      const label = document.createElement("label");
      label.append(input, ` ${text}`);
      into.append(label);
    };
    for (const [name, text] of Object.entries(TOGGLES)) {
      const checked = name !== "labels" && SHOWN[name as keyof Shown] === true;
      box(get("toggles"), `show-${name}`, text, checked, (on) => {
        if (name === "labels") this.#labels = on;
        else this.#set({ [name]: on });
        this.draw();
        if (name === "contacts" || name === "forces")
          this.#act({ do: "contacts", value: Number(this.#shown.contacts || this.#shown.forces) });
      });
    }
    for (let group = 0; group < 6; group++)
      box(get("groups"), `group-${group}`, String(group), ((SHOWN.groups >> group) & 1) === 1, (on) =>
        this.#set({ groups: on ? this.#shown.groups | (1 << group) : this.#shown.groups & ~(1 << group) }),
      );

    get("acting").hidden = facts.actors.length === 0;
    const actor = get<HTMLSelectElement>("actor");
    facts.actors.forEach((name, i) => actor.append(option(name, String(i))));
    actor.value = String(facts.actors.indexOf(this.#frame.facts.actor));
    on(actor, "change", () => this.#act({ do: "actor", value: Number(actor.value) }));
    facts.actions.forEach(({ name, low, high, whole }, index) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "range", min: String(low), max: String(high), step: whole ? "1" : "any" });
      input.value = String(Math.min(high, Math.max(low, 0)));
      on(input, "input", () => {
        actor.value = String(facts.actors.indexOf("sliders"));
        this.#act({ do: "actor", value: Number(actor.value) });
        this.#act({ do: "slider", index, value: Number(input.value) });
      });
      label.append(`${name} `, input);
      get("sliders").append(label);
    });
    get("keys").hidden = facts.keyframes.length === 0;
    const keyframe = get<HTMLSelectElement>("keyframe");
    keyframe.append(option("", ""));
    facts.keyframes.forEach((name, i) => keyframe.append(option(name, String(i))));
    on(keyframe, "change", () => keyframe.value !== "" && this.#act({ do: "keyframe", value: Number(keyframe.value) }));

    get("seeking").hidden = facts.steps === 0;
    const seek = get<HTMLInputElement>("seek");
    seek.max = String(facts.steps);
    on(seek, "input", () => {
      this.#act({ do: "pause" });
      this.#act({ do: "seek", value: Number(seek.value) });
    });
    const speed = get<HTMLInputElement>("speed");
    on(speed, "input", () => this.#act({ do: "speed", value: 2 ** Number(speed.value) }));
    on(get("play"), "click", () => this.#act({ do: this.#frame.facts.paused ? "play" : "pause" }));
    for (const what of ["step", "back", "reset"] as const) on(get(what), "click", () => this.#act({ do: what }));
  }

  #set(change: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...change };
    this.draw();
  }

  #listen(): void {
    const element = get<HTMLCanvasElement>("canvas");
    const keys: Readonly<Record<string, () => void>> = {
      " ": () => get("play").click(),
      ArrowRight: () => this.#act({ do: "step" }),
      ArrowLeft: () => this.#act({ do: "back" }),
      Backspace: () => this.#act({ do: "reset" }),
    };
    addEventListener("keydown", (event) => {
      const at = event.target as HTMLElement;
      if (["INPUT", "SELECT", "BUTTON"].includes(at.tagName) || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    new ResizeObserver(() => this.draw()).observe(element);

    const rayAt = (event: MouseEvent) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      const view = this.#view();
      const [x, y] = [(2 * (event.clientX - left)) / width - 1, 1 - (2 * (event.clientY - top)) / height];
      return { view, along: rayOf(view, width / height, x, y) };
    };
    let held: { x: number; y: number; moved: number; far: number } | undefined;
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      element.focus();
      const { view, along } = rayAt(event);
      const { facts } = this.#source;
      const found = pick(facts.scene, this.#frame.poses, facts.radius, this.#shown, view.eye, along, this.#places);
      held = { x: event.clientX, y: event.clientY, moved: 0, far: found?.distance ?? 0 };
      this.#choose(found);
      if (event.ctrlKey && found && found.body > 0 && facts.kind === "live") {
        this.#pull = { picked: found, target: found.at };
      }
    });
    element.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      held = { ...held, x: event.clientX, y: event.clientY, moved: held.moved + Math.hypot(dx, dy) };
      if (this.#pull) {
        const { view, along } = rayAt(event);
        const target = view.eye.map((e, i) => e + held!.far * along[i]);
        this.#pull.target = target;
        const { world, body, local } = this.#pull.picked;
        const offset = this.#offset(world);
        this.#act({ do: "drag", world, body, point: [...local], target: target.map((x, i) => x - offset[i]) });
      } else this.#turn(dx, dy, event.shiftKey || event.buttons === 2);
      this.draw();
    });
    const release = () => {
      if (this.#pull) this.#act({ do: "release" });
      this.#pull = held = undefined;
      this.draw();
    };
    element.addEventListener("pointerup", release);
    element.addEventListener("pointercancel", release);
    element.addEventListener("contextmenu", (event) => event.preventDefault());
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.#camera = { ...this.#camera, distance: this.#camera.distance * Math.exp(0.001 * event.deltaY) };
        this.draw();
      },
      { passive: false },
    );
  }

  #choose(found: Picked | undefined): void {
    const { scene } = this.#source.facts;
    this.#picked = found && found.body > 0 ? found : undefined;
    const body = found && scene.bodies[found.body];
    get("picked").textContent = body
      ? `world ${found.world}, body ${found.body} ${body.name}, at ${found.at.map((x) => x.toFixed(3)).join(" ")}`
      : "";
    this.draw();
  }

  #turn(dx: number, dy: number, moves: boolean): void {
    const { azimuth, elevation, distance, lookat } = this.#camera;
    if (!moves) {
      this.#camera = {
        ...this.#camera,
        azimuth: azimuth - 0.4 * dx,
        elevation: Math.min(89, Math.max(-89, elevation - 0.4 * dy)),
      };
      return;
    }
    const a = (azimuth * Math.PI) / 180;
    const k = distance / 600;
    this.#camera = {
      ...this.#camera,
      lookat: [
        lookat[0] + k * (-dx * -Math.sin(a) * -1 + dy * Math.cos(a)),
        lookat[1] + k * (-dx * -Math.cos(a) + dy * Math.sin(a)),
        lookat[2],
      ],
    };
  }
}

async function start(): Promise<void> {
  let page: Page | undefined;
  let first: (frame: Frame) => void = () => {};
  const begun = new Promise<Frame>((resolve) => {
    first = resolve;
  });
  const source = await openSource((frame) => (page ? page.show(frame) : first(frame)), say);
  say(source.facts.note ?? "");
  const frame = await begun;
  let canvas: Canvas | undefined;
  try {
    const element = get<HTMLCanvasElement>("canvas");
    canvas = await Canvas.open(element, source.shader, source.facts.scene.shapes, (why) =>
      say(`The GPU of this browser was lost: ${why} Load the page again.`),
    );
  } catch (error) {
    say((error as Error).message);
  }
  page = new Page(source, canvas, frame);
  page.show(frame);
  document.body.dataset.ready = canvas ? "drawn" : "nothing to draw with";
}

start().catch((error: unknown) => say(`The viewer cannot start: ${(error as Error).message}`));
