// episodes of a recording, forwards and backwards
import type { Poses } from "../render/show.ts";
import type { Stage } from "../render/poses.ts";
import { recordedPoses, rowOf, type EpisodeRecording } from "../render/recording.ts";
import { contactsOf } from "./contacts.ts";
import { RecordedSteps } from "./recorded-steps.ts";
import type { Command, Facts, WorldValues } from "./messages.ts";
import type { Subject } from "./session.ts";

export class RecordedSubject implements Subject {
  readonly facts: Facts;
  readonly #recording: EpisodeRecording;
  readonly #stage: Stage;
  readonly #steps: RecordedSteps;
  #world = 0;
  #contacts = false;

  /** Takes over the stage. */
  constructor(recording: EpisodeRecording, stage: Stage, worlds: number) {
    this.#recording = recording;
    this.#stage = stage;
    this.#steps = new RecordedSteps(Math.max(...recording.lengths.slice(0, worlds)) - 1);
    const first = stage.poses(recordedPoses(recording, 0, worlds));
    this.facts = {
      title: recording.about.id,
      kind: "recording",
      worlds,
      device: `recording of ${recording.episodes} episodes`,
      dt: recording.about.control_dt,
      radius: stage.radius,
      reach: stage.reach(first),
      home: stage.freeCamera(first),
      actors: [],
      actions: [],
      keyframes: [],
      steps: this.#steps.last,
      scene: stage.scene,
      ...stage.places(worlds),
    };
  }

  get step(): number {
    return this.#steps.at;
  }
  get time(): number {
    return rowOf(this.#recording, "time", this.#steps.at, this.#world)[0] ?? 0;
  }
  get actor(): string {
    return "";
  }
  get back(): number {
    return this.#steps.at;
  }
  get plots(): Readonly<Record<string, number>> {
    const { about } = this.#recording;
    const row = (name: string) => rowOf(this.#recording, name, this.#steps.at, this.#world);
    const reward = row("reward");
    const terms = row("reward_terms");
    return {
      ...(reward.length === 1 ? { reward: reward[0] } : {}),
      ...Object.fromEntries(about.reward_terms.map((name, i) => [name, terms[i] ?? 0])),
    };
  }

  get values(): readonly WorldValues[] {
    const [qpos, qvel] = ["qpos", "qvel"].map((name) =>
      Array.from(rowOf(this.#recording, name, this.#steps.at, this.#world)),
    );
    return [{ world: this.#world, qpos, qvel }];
  }

  async poses(): Promise<Poses> {
    const worlds = recordedPoses(this.#recording, this.#steps.at, this.facts.worlds);
    const poses = this.#stage.poses(worlds, this.#world);
    if (!this.#contacts) return poses;
    const state = Object.fromEntries(
      ["qpos", "qvel", "act"].map((name) => [name, rowOf(this.#recording, name, this.#steps.at, this.#world)]),
    );
    const shift = this.#stage.put(worlds[this.#world]);
    return { ...poses, contacts: contactsOf(this.#stage.oracle, state, this.#world, shift) };
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
    else if (what === "world") this.#world = Math.min(this.facts.worlds - 1, Math.max(0, Math.round(value) || 0));
    else if (what === "contacts") this.#contacts = value > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stage[Symbol.dispose]();
  }
}
