// the page of corral view: one picture, and what is around it
import { rayOf } from "../src/render/camera.ts";
import { DrawList } from "../src/render/draw-list.ts";
import { addArrow, SHOWN, showWorlds, type Shown } from "../src/render/show.ts";
import type { Command, Facts, Frame } from "../src/view/messages.ts";
import { Canvas } from "./canvas.ts";
import { makeClips } from "./clip.ts";
import { makeControls, type Controlled } from "./controls.ts";
import { get, say } from "./dom.ts";
import { Fields } from "./fields.ts";
import { numbersOf, putLabels } from "./labels.ts";
import { Looking } from "../src/view/looking.ts";
import { pick, type Picked } from "./pick.ts";
import { Plots } from "./plots.ts";
import { listen, type Pointed, type Pull } from "./pointer.ts";
import { openSource, type Source } from "./source.ts";
import { Timelines } from "./timeline.ts";
import { showRun } from "./training.ts";

class Page implements Controlled, Pointed {
  readonly facts: Facts;
  readonly looking: Looking;
  readonly #source: Source;
  readonly #canvas: Canvas | undefined;
  readonly #list = new DrawList();
  readonly #plots = new Plots(get("lines"));
  readonly #fields: Fields;
  readonly #timeline: Timelines | undefined;
  frame: Frame;
  shown: Shown = SHOWN;
  labels = false;
  hidden: ReadonlySet<number> = new Set();
  pull: Pull | undefined;
  #picked: Picked | undefined;
  #hovered: { found: Picked; left: number; top: number } | undefined;
  #drawn = false;

  constructor(source: Source, canvas: Canvas | undefined, frame: Frame) {
    const { facts } = source;
    this.#source = source;
    this.#canvas = canvas;
    this.facts = facts;
    this.frame = frame;
    this.looking = new Looking(facts);
    get("title").textContent = facts.title;
    get("device").textContent = `${facts.worlds} world${facts.worlds === 1 ? "" : "s"}, ${facts.device}`;
    document.title = facts.title;
    // how the page is laid out
    document.body.dataset.kind = facts.run ? "run" : facts.kind;
    this.#fields = new Fields(facts, (name, isChosen) => {
      if (isChosen) this.#plots.add(this.#fields.of(this.frame, this.looking.world));
      else this.#plots.remove(name);
      this.askContacts();
    });
    makeControls(this);
    this.choose(undefined);
    const go = (step: number) => {
      this.act({ do: "pause" });
      this.act({ do: "seek", value: step });
    };
    this.#timeline = facts.timeline && new Timelines(facts.timeline, facts.steps, go);
    const element = get<HTMLCanvasElement>("canvas");
    listen(this, element);
    makeClips(element, () => this.draw());
    new ResizeObserver(() => this.draw()).observe(element);
  }

  act(command: Command): void {
    this.#source.act(command);
  }

  askContacts(): void {
    const { contacts, forces } = this.shown;
    this.act({ do: "contacts", value: Number(contacts || forces || this.#fields.touches) });
  }

  look(world: number): void {
    this.looking.world = world;
    this.#plots.clear();
    this.act({ do: "world", value: world });
    this.draw();
  }

  /** A new frame. */
  show(frame: Frame): void {
    const { facts } = frame;
    if (facts.step !== this.frame.facts.step) {
      this.#plots.add({ ...facts.plots, ...this.#fields.of(frame, this.looking.world) });
    }
    this.frame = frame;
    get("play").textContent = facts.paused ? "play" : "pause";
    const at = facts.at === undefined ? "" : `, ${facts.at}`;
    get("now").textContent = `step ${facts.step}${at}, ${facts.time.toFixed(3)} s, speed ${facts.speed.toFixed(2)}`;
    get<HTMLButtonElement>("back").disabled = facts.back === 0;
    get<HTMLInputElement>("seek").value = String(facts.step);
    // a run's policy comes later than its page
    get<HTMLSelectElement>("actor").value = String(this.facts.actors.indexOf(facts.actor));
    this.#timeline?.show(facts.step);
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

  #paint(): void {
    const { facts, looking, frame } = this;
    const { bad, ghosts } = facts;
    showWorlds(this.#list, facts.scene, frame.poses, facts.radius, this.shown, {
      hidden: this.hidden,
      ...(this.#picked ? { chosen: this.#picked } : {}),
      ...(bad && frame.facts.step >= bad.step ? { bad } : {}),
      ...(ghosts ? { ghosts: new Set(ghosts) } : {}),
      ...(looking.places ? { places: looking.places } : {}),
    });
    if (this.pull) {
      const from = looking.placeOf(frame.poses, this.pull.picked);
      const along = this.pull.target.map((x, i) => x - from[i]);
      addArrow(this.#list, from, along, 0.01 * facts.radius, [1, 0.8, 0.2, 1]);
    }
    const view = looking.view(frame.poses);
    this.#canvas?.draw(this.#list, view, facts.reach);
    const pace = this.#canvas?.pace;
    if (pace !== undefined) get("pace").textContent = `${pace.toFixed(pace < 10 ? 1 : 0)} ms a picture`;
    putLabels(facts, frame, looking, view, this.labels && this.#canvas !== undefined);
    this.#tell();
  }

  at(x: number, y: number) {
    const { facts, looking, frame } = this;
    const view = looking.view(frame.poses);
    const { clientWidth, clientHeight } = get("canvas");
    const { eye, along } = rayOf(view, clientWidth / Math.max(1, clientHeight), x, y);
    const skipped = new Set([...this.hidden, ...(looking.places === facts.places ? (facts.ghosts ?? []) : [])]);
    return {
      eye,
      along,
      pick: () => pick(facts.scene, frame.poses, facts.radius, this.shown, eye, along, looking.places, skipped),
    };
  }

  choose(found: Picked | undefined): void {
    this.#picked = found && found.body > 0 ? found : undefined;
    this.looking.body = this.#picked?.body;
    const body = found && this.facts.scene.bodies[found.body];
    const pulls = this.facts.kind === "live";
    get("picked").textContent = body
      ? `world ${found.world}, body ${found.body} ${body.name}, at ${found.at.map((x) => x.toFixed(3)).join(" ")}`
      : `drag turns, shift-drag moves, wheel nears, click names a body${pulls ? ", ctrl-drag pulls it" : ""}`;
    this.draw();
  }

  hover(found: Picked | undefined, left: number, top: number): void {
    this.#hovered = found && found.body > 0 ? { found, left, top } : undefined;
    this.#tell();
  }

  /** The numbers of what is pointed at, beside the pointer. */
  #tell(): void {
    const box = get("hover");
    box.hidden = this.#hovered === undefined;
    if (!this.#hovered) return;
    const { found, left, top } = this.#hovered;
    box.textContent = numbersOf(this.facts, this.frame, this.looking, found);
    const { clientWidth, clientHeight } = get("view");
    box.style.left = `${Math.max(0, Math.min(left + 12, clientWidth - box.offsetWidth))}px`;
    box.style.top = `${Math.max(0, Math.min(top + 12, clientHeight - box.offsetHeight))}px`;
  }
}

/** Starts the page on what its source shows. */
export async function start(open: typeof openSource = openSource): Promise<Page> {
  let page: Page | undefined;
  let first: (frame: Frame) => void = () => {};
  const begun = new Promise<Frame>((resolve) => {
    first = resolve;
  });
  const source = await open((frame) => (page ? page.show(frame) : first(frame)), say);
  say(source.facts.note ?? "");
  const frame = await begun;
  let canvas: Canvas | undefined;
  try {
    const element = get<HTMLCanvasElement>("canvas");
    canvas = await Canvas.open(element, source.shader, source.facts.scene, (why) =>
      say(`The GPU of this browser was lost: ${why} Load the page again.`),
    );
  } catch (error) {
    say((error as Error).message);
  }
  page = new Page(source, canvas, frame);
  page.show(frame);
  if (source.facts.run) void showRun(source.facts.run, say);
  document.body.dataset.ready = canvas ? "drawn" : "nothing to draw with";
  return page;
}
