// per-world (randomised) numbers of the model, while a kernel is traced
import { array, variable, type Variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { exp, log } from "../../trace/math.ts";
import { add, clamp, floor, min, mul, sub, type Scalar } from "../../trace/scalar.ts";
import type { Model } from "../../model/model.ts";
import { boundingRadius } from "../../physics/collision/colliders/near.ts";
import { inertiaConstants, subtreeMasses } from "../../physics/set_const.ts";
import type { ModelView, PerWorld } from "../../physics/view.ts";
import type { Draws } from "../task/draws.ts";
import { gridCount } from "../task/grid.ts";
import { drawnNumbers, drawScene } from "../task/draw-scene.ts";
import { drawnEnds, rangeOf, sourcesOf, type RandomPlan } from "../task/randomise.ts";
import type { Distribution, Scene } from "../task/task.ts";

export class WorldModel {
  /** All that is kept of the world: what is drawn, then what is derived. */
  readonly kept: readonly Variable[];
  readonly perWorld: PerWorld;
  readonly #plan: RandomPlan;
  readonly #model: Model;

  constructor(plan: RandomPlan, model: Model) {
    this.#plan = plan;
    this.#model = model;
    const all = [...plan.entries, ...plan.derived];
    this.kept = all.map(({ field, index }) => variable(`${field}_${index}`, 0));
    const places = new Map<string, Map<number, Variable>>();
    all.forEach(({ field, index }, i) => {
      if (!places.has(field)) places.set(field, new Map());
      places.get(field)!.set(index, this.kept[i]);
    });
    const least = leastOf(plan);
    this.perWorld = new Map(
      [...places].map(([field, own]) => {
        const length = current().unroll ? 0 : this.#shared(field).length;
        const at = (i: number) => own.get(plan.standsFor(field, i))?.get();
        const leastAt = (i: number) => least.get(`${field} ${plan.standsFor(field, i)}`);
        return [field, { at, least: leastAt, all: length > 0 ? array(field, length) : undefined }];
      }),
    );
  }

  /** What the MJCF has of a field; nothing for numbers that are no arrays. */
  #shared(field: string): ArrayLike<number> {
    const values = (this.#model as unknown as Record<string, ArrayLike<number> | undefined>)[field];
    return values ?? [];
  }

  /** Makes what was loaded or drawn readable at indices known only at run time. */
  settle(): void {
    for (const [field, { at, all }] of this.perWorld) {
      if (!all) continue;
      const shared = this.#shared(field);
      for (let i = 0; i < all.length; i++) all.set(i, at(i) ?? shared[i]);
    }
  }

  /** Draws all for a new episode, and derives what depends on it. `scene`: the world before its start. */
  draw(random: Draws, m: ModelView, scene: Scene): void {
    let at = 0;
    for (const { how, distribution, groups, place } of this.#plan.drawn) {
      // it may read what was drawn before it
      const sources = sourcesOf(distribution);
      if (sources.length > 0) this.settle();
      const ends = sources.map((source) => drawnNumbers(source, drawScene(scene, random), place, groups.length));
      const draws = drawnFrom(distribution, ends, groups.length, random);
      groups.forEach((group, i) => {
        for (const { nominal } of group) {
          const x = draws[i];
          this.kept[at++].set(how === "set" ? x : how === "add" ? add(nominal, x) : mul(nominal, x));
        }
      });
    }
    this.settle();
    this.#derive(m);
    this.settle();
  }

  #derive(m: ModelView): void {
    const { derived, wanted } = this.#plan;
    const start = this.#plan.entries.length;
    const set = (field: string, value: (index: number) => Scalar) =>
      derived.forEach((e, i) => {
        if (e.field === field) this.kept[start + i].set(value(e.index));
      });
    const has = (field: string) => derived.some((e) => e.field === field);
    if (has("body_subtreemass")) {
      const masses = subtreeMasses(m);
      set("body_subtreemass", (b) => masses[b]);
      // rolled kernels read them at run-time indices below
      this.settle();
    }
    if (has("dof_invweight0")) {
      const constants = inertiaConstants(m, wanted);
      set("dof_invweight0", (i) => constants.dof_invweight0[i]);
      set("body_invweight0", (i) => constants.body_invweight0.get(Math.floor(i / 2))![i % 2]);
      set("tendon_length0", (t) => constants.tendon_length0[t]);
      set("tendon_invweight0", (t) => constants.tendon_invweight0.get(t)!);
      set("actuator_acc0", (i) => constants.actuator_acc0.get(i)!);
      set("meaninertia", () => constants.meaninertia);
    }
    set("geom_rbound", (g) => boundingRadius(m.model.geom_type[g], m.geom_size.vec3(g)));
  }
}

/** The least that is drawn of each element, by its field and index. */
function leastOf({ drawn }: RandomPlan): ReadonlyMap<string, number> {
  const least = new Map<string, number>();
  for (const { how, distribution, groups, place } of drawn) {
    const range = rangeOf(place, distribution);
    for (const { field, index, nominal } of groups.flat()) {
      least.set(`${field} ${index}`, Math.min(...drawnEnds(how, range, nominal)));
    }
  }
  return least;
}

/** `many` draws of a distribution; `ends`: what it asks of the world. */
export function drawnFrom(
  d: Distribution,
  ends: readonly (readonly Scalar[])[],
  many: number,
  random: Draws,
): Scalar[] {
  if ("within" in d) {
    const [from, to] = ends.map((list) => list.map((x) => clamp(x, d.within[0], d.within[1])));
    if (ends.length === 1) return from;
    return random.uniforms(many).map((u, i) => add(from[i], mul(u, sub(to[i], from[i]))));
  }
  if ("normal" in d) {
    const [mean, deviation] = d.normal;
    // a tail that no bound was checked for
    return random.normals(many).map((n) => add(mean, mul(clamp(n, -3, 3), deviation)));
  }
  if ("logUniform" in d) {
    const [low, high] = d.logUniform.map((x) => log(x) as number);
    return random.uniforms(many).map((u) => exp(add(low, mul(u, high - low))));
  }
  if ("grid" in d) {
    const [low, , step] = d.grid;
    const count = gridCount(d.grid);
    return random.uniforms(many).map((u) => add(low, mul(step, min(floor(mul(u, count)), count - 1))));
  }
  const [low, high] = d;
  return random.uniforms(many).map((u) => add(low, mul(u, high - low)));
}
