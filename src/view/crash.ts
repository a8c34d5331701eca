// a crash bundle: the recorded control steps of a world, beside MuJoCo in float64 from the same state under the same inputs
import { inLine } from "../core/show.ts";
import { explain, type BisectReport } from "../crash/bisect.ts";
import { bodyOf, ownerOf } from "../crash/element-names.ts";
import { modelAt } from "../crash/physics-facts.ts";
import type { ReexecuteOptions } from "../crash/reexecute.ts";
import { examine, trippedWorld, type CrashScene } from "../crash/scene.ts";
import { besideMuJoCo, stretchStart } from "../crash/second-opinion.ts";
import { fieldBefore, resultOf, type Moment } from "../crash/timeline.ts";
import { DrivenActuators } from "../monitor/driven.ts";
import { distance } from "../monitor/measure.ts";
import type { WorldState } from "../monitor/mujoco-world.ts";
import type { Bundle } from "../record/bundle.ts";
import { Stage, type WorldPose } from "../render/poses.ts";
import type { Poses } from "../render/show.ts";
import { contactsOf } from "./contacts.ts";
import { RecordedSteps } from "./recorded-steps.ts";
import type { Command, Facts, Timeline, WorldValues } from "./messages.ts";
import type { Subject } from "./session.ts";

/** Places of the two worlds that are shown. */
const OURS = 0;
const GHOST = 1;

/** What of a state is shown of a world. */
type Shown = Pick<WorldState, "qpos" | "qvel" | "act" | "mocap_pos" | "mocap_quat">;

/** All that is known of the world before one control step, or after the last. */
interface Row {
  readonly state: Shown;
  /** MuJoCo's; undefined outside of the steps that both make. */
  readonly ghost: Shown | undefined;
  readonly time: number;
  readonly text: string;
  readonly numbers: Readonly<Record<string, number>>;
}

const most = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((m, x) => (Number.isNaN(x) || Number.isNaN(m) ? Number.NaN : Math.max(m, Math.abs(x))), 0);

export class CrashSubject implements Subject {
  readonly facts: Facts;
  readonly #rows: readonly Row[];
  readonly #stage: Stage;
  readonly #nq: number;
  readonly #steps: RecordedSteps;
  #contacts = false;

  private constructor(scene: CrashScene, found: BisectReport, rows: readonly Row[], stage: Stage) {
    this.#rows = rows;
    this.#stage = stage;
    const { bundle, at } = scene;
    this.#steps = new RecordedSteps(rows.length - 1, at);
    this.#nq = bundle.model.nq;
    const first = stage.poses([this.#pose(rows[at].state)]);
    const { about } = bundle;
    this.facts = {
      title: about.env.id,
      kind: "crash",
      worlds: 2,
      device: `${about.device.name}, world ${found.id}, beside MuJoCo in float64`,
      dt: about.env.frameSkip * bundle.model.opt.timestep,
      radius: stage.radius,
      reach: stage.reach(first),
      home: stage.freeCamera(first),
      actors: [],
      actions: [],
      keyframes: [],
      steps: this.#steps.last,
      scene: stage.scene,
      note: noteOf(found),
      ghosts: [GHOST],
      places: [0, 0],
      timeline: timelineOf(scene, found, rows),
      ...badOf(scene, found),
    };
  }

  /**
   * Executes a bundle again, finds what broke first, and has MuJoCo make the same steps.
   * @throws CorralError unknown-world, replay-endless, mujoco-memory
   */
  static async create(bundle: Bundle, options: ReexecuteOptions = {}, id?: number): Promise<CrashSubject> {
    trippedWorld(bundle, id);
    const { scene } = await examine(bundle, options, id);
    const found = await explain(scene);
    const ghosts = new Map<number, Shown>();
    // of actuators of other versions MuJoCo may not know what they do
    if (bundle.about.env.actuators === undefined || DrivenActuators.in(bundle.trace, bundle.model))
      for await (const { k, state, after } of besideMuJoCo(scene)) {
        ghosts.set(k, state);
        ghosts.set(k + 1, after);
      }
    const stage = await Stage.create(modelAt(bundle, scene.moments[scene.at], scene.row));
    return new CrashSubject(scene, found, rowsOf(scene, ghosts), stage);
  }

  get step(): number {
    return this.#steps.at;
  }
  get time(): number {
    return this.#rows[this.#steps.at].time;
  }
  get actor(): string {
    return "";
  }
  get back(): number {
    return this.#steps.at;
  }
  get at(): string {
    return this.#rows[this.#steps.at].text;
  }
  get plots(): Readonly<Record<string, number>> {
    return this.#rows[this.#steps.at].numbers;
  }
  get values(): readonly WorldValues[] {
    const { state, ghost } = this.#rows[this.#steps.at];
    return [state, ghost].flatMap((of, world) => (of ? [{ world, qpos: [...of.qpos], qvel: [...of.qvel] }] : []));
  }

  /** Where nothing is known of a world it is nowhere. */
  #pose(state: Shown | undefined): WorldPose {
    return state ?? { qpos: new Float64Array(this.#nq).fill(Number.NaN) };
  }

  async poses(): Promise<Poses> {
    const { state, ghost } = this.#rows[this.#steps.at];
    const poses = this.#stage.poses([this.#pose(state), this.#pose(ghost)], OURS);
    if (!this.#contacts) return poses;
    return { ...poses, contacts: contactsOf(this.#stage.oracle, { ...state }, OURS) };
  }

  async forward(): Promise<boolean> {
    return this.#steps.seek(this.#steps.at + 1);
  }

  async backward(): Promise<boolean> {
    return this.#steps.seek(this.#steps.at - 1);
  }

  async act({ do: what, value = 0 }: Command): Promise<void> {
    if (what === "seek") this.#steps.seek(value);
    else if (what === "reset") this.#steps.seek(0);
    else if (what === "contacts") this.#contacts = value > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stage[Symbol.dispose]();
  }
}

/** A row before each recorded control step, and one of what the last left. */
function rowsOf({ bundle, moments, row, at }: CrashScene, ghosts: ReadonlyMap<number, Shown>): Row[] {
  const last = moments[moments.length - 1];
  const end: Moment = { ...last, step: last.step + 1, before: bundle.recording.end };
  return [...moments, end].map((moment, k) => {
    const read = (name: string) => fieldBefore(bundle, moment, row, name);
    const state: Shown = {
      qpos: read("qpos"),
      qvel: read("qvel"),
      act: read("act"),
      mocap_pos: read("mocap_pos"),
      mocap_quat: read("mocap_quat"),
    };
    const ghost = ghosts.get(k);
    // the world continues in another episode, or as it broke: MuJoCo's next state is of the step that broke
    const isBeside = ghost !== undefined && k <= at;
    const made = moments[k - 1];
    const result = (name: string) => (made && name in bundle.about.env.result ? resultOf(bundle, made, row, name) : 0);
    const numbers = {
      "max |qpos|": most(state.qpos),
      "max |qvel|": most(state.qvel),
      ...(isBeside ? { "qpos from MuJoCo": distance(state.qpos, ghost.qpos) } : {}),
      ...(isBeside ? { "qvel from MuJoCo": distance(state.qvel, ghost.qvel) } : {}),
      reward: result("reward"),
    };
    const text = k < moments.length ? `before control step ${moment.step}` : `after control step ${last.step}`;
    return { state, ghost, time: read("time")[0] ?? 0, text, numbers };
  });
}

/** Lines over the steps, and what happened at them. */
function timelineOf(scene: CrashScene, found: BisectReport, rows: readonly Row[]): Timeline {
  const { bundle, moments, row, at } = scene;
  const names = Object.keys(rows[at].numbers);
  const marks: { at: number; text: string }[] = [];
  moments.forEach((moment, k) => {
    if (moment.cut && k > 0) marks.push({ at: k, text: "the state is set by a call" });
    if (resultOf(bundle, moment, row, "reset") !== 0) marks.push({ at: k + 1, text: "a new episode" });
  });
  marks.push({ at, text: `breaks in this step: ${inLine(found.blame?.text ?? found.status.join(", "))}` });
  const start = stretchStart(scene);
  if (start > 0) marks.push({ at: start, text: "MuJoCo begins here" });
  return {
    lines: names.map((name) => ({
      name,
      log: name !== "reward",
      values: rows.map(({ numbers }) => numbers[name] ?? null),
    })),
    marks,
  };
}

const shown = (x: number): string => String(Number(x.toPrecision(7)));

/** What broke first, in words. */
function noteOf({ step, status, blame, causes }: BisectReport): string {
  const lines = [`Control step ${step} of the run: ${status.join(", ")}.`];
  if (blame) {
    const where = blame.physicsStep > 0 ? `, physics step ${blame.physicsStep}` : "";
    lines.push(`First bad: ${blame.text} = ${shown(blame.value)} in stage ${blame.stage}${where}.`);
  }
  for (const { certainty, text, remedy } of causes) lines.push(`${certainty}: ${text} ${remedy}`);
  return lines.map(inLine).join("\n");
}

/** The body and the joint that the first bad number is of. */
function badOf({ bundle: { model }, at }: CrashScene, { blame }: BisectReport): Pick<Facts, "bad"> {
  if (blame?.element === undefined || blame.element === null) return {};
  const owner = ownerOf(model, blame.field, blame.element);
  const body = owner && bodyOf(model, owner);
  if (owner === undefined || body === undefined) return {};
  const text = inLine(`${blame.text} = ${shown(blame.value)}`);
  const joint =
    owner.kind === "joint"
      ? owner.id
      : owner.kind === "actuator" && model.actuator_trntype[owner.id] <= 1
        ? model.actuator_trnid[2 * owner.id]
        : undefined;
  return { bad: { world: OURS, body, step: at, text, ...(joint === undefined ? {} : { joint }) } };
}
