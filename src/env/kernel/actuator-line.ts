// what becomes of controls on their way to forces, physics step by physics step
import { param, stage, variable, when, type Variable } from "../../trace/control.ts";
import { exp } from "../../trace/math.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  eq,
  floor,
  ge,
  max,
  min,
  mul,
  neg,
  round,
  select,
  sub,
  toF32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { ModelView, OwnValues, PerWorld, WorldData } from "../../physics/view.ts";
import { DRIVEN_STAGE, drivenName, type DrivenWord } from "../../physics/actuator/driven-names.ts";
import { networkForces } from "../task/actuator-network.ts";
import { amountSources, drawnCount, drawnPlace, type ActuatorPlan, type Driven } from "../task/actuators.ts";
import { drawnNumbers, drawScene } from "../task/draw-scene.ts";
import type { Draws } from "../task/draws.ts";
import type { AmountName, Scene } from "../task/task.ts";
import { drawnFrom } from "./world-model.ts";

/** Shortest time constant that is told from none (s). */
const SHORTEST = 1e-9;

/** Past controls that a delay of so many physics steps may want. */
const pastControls = ({ most }: Driven, frameSkip: number): number => Math.ceil((most.delay ?? 0) / frameSkip);
const hasLag = ({ most }: Driven): boolean => (most.lag ?? 0) > 0;
/** Physics steps of which a network sees errors and speeds, beside this one. */
const networkSteps = ({ network }: Driven): number => Math.max(0, ...(network?.history ?? []));

/** Whether encoder or play change the force of a servo. */
const shifts = ({ most, network }: Driven): boolean =>
  network === undefined && (most.bias !== undefined || most.backlash !== undefined);

const FORCE_RANGE = "actuator_forcerange";
const BIAS = "actuator_biasprm";

/** A number of the model that goes with a world's state and draws, physics step by physics step. */
export interface DrivenNumber {
  readonly field: typeof FORCE_RANGE | typeof BIAS;
  readonly index: number;
}

export const drivenNumbers = (plan: ActuatorPlan): DrivenNumber[] =>
  plan.driven.flatMap((of): DrivenNumber[] => [
    ...(of.most.peak === undefined
      ? []
      : [0, 1].map((k) => ({ field: FORCE_RANGE, index: 2 * of.actuator + k }) as const)),
    ...(shifts(of) ? [{ field: BIAS, index: 10 * of.actuator } as const] : []),
  ]);

/** Numbers that a world keeps of its actuators. */
export const actuatorWords = (plan: ActuatorPlan): number =>
  plan.driven.reduce(
    (n, one) => n + pastControls(one, plan.frameSkip) + (hasLag(one) ? 1 : 0) + 2 * networkSteps(one),
    drawnCount(plan),
  );

/** What a world keeps of one actuator, and the numbers of MuJoCo's that are its own. */
interface Line {
  readonly of: Driven;
  /** Controls of the control steps before, newest first. */
  readonly past: readonly Variable[];
  readonly followed: Variable | undefined;
  /** Errors and speeds of the physics steps before, newest first. */
  readonly errors: readonly Variable[];
  readonly speeds: readonly Variable[];
  readonly control: Variable;
  readonly low: Variable;
  readonly high: Variable;
  /** actuator_biasprm[0]: what encoder and play add to the force. */
  readonly offset: Variable;
}

/** The actuators of one world while its kernel is traced. */
export class ActuatorLine {
  readonly kept: readonly Variable[];
  readonly #plan: ActuatorPlan;
  readonly #drawn: readonly Variable[];
  readonly #lines: readonly Line[];
  readonly #model: Model;
  /** Numbers of the model that go with state and draws, over those that the world drew. */
  readonly #base: PerWorld;
  /** The first physics step of an episode. */
  #first: Bool = false;

  constructor(plan: ActuatorPlan, model: Model, base: PerWorld) {
    this.#plan = plan;
    this.#model = model;
    this.#base = base;
    const variables = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => variable(`${name}_${i}`, 0));
    this.#drawn = variables("actuator_draw", drawnCount(plan));
    this.#lines = plan.driven.map((of) => {
      const name = (what: DrivenWord) => drivenName(of.actuator, what);
      const own = (what: DrivenWord) => variable(name(what), 0);
      return {
        of,
        past: variables(name("past"), pastControls(of, plan.frameSkip)),
        followed: hasLag(of) ? own("followed") : undefined,
        errors: variables(name("error"), networkSteps(of)),
        speeds: variables(name("speed"), networkSteps(of)),
        control: own("control"),
        low: own("low"),
        high: own("high"),
        offset: own("offset"),
      };
    });
    this.kept = [
      ...this.#drawn,
      ...this.#lines.flatMap(({ past, followed, errors, speeds }) => [
        ...past,
        ...(followed ? [followed] : []),
        ...errors,
        ...speeds,
      ]),
    ];
  }

  /** The world's own numbers of the model, with those that go with its actuators. */
  get perWorld(): PerWorld {
    if (this.#lines.length === 0) return this.#base;
    const own = (field: string, at: (index: number) => Variable | undefined): [string, OwnValues] => {
      const base = this.#base.get(field);
      return [field, { at: (i) => at(i)?.get() ?? base?.at(i), all: undefined }];
    };
    const limits = new Map<number, Variable>();
    const offsets = new Map<number, Variable>();
    for (const { of, low, high, offset } of this.#lines) {
      if (of.most.peak !== undefined) limits.set(2 * of.actuator, low).set(2 * of.actuator + 1, high);
      if (shifts(of)) offsets.set(10 * of.actuator, offset);
    }
    return new Map([
      ...this.#base,
      ...(limits.size > 0 ? [own(FORCE_RANGE, (i) => limits.get(i))] : []),
      ...(offsets.size > 0 ? [own(BIAS, (i) => offsets.get(i))] : []),
    ]);
  }

  #number(field: "actuator_forcerange" | "actuator_biasprm" | "actuator_gear", i: number): Scalar {
    return this.#base.get(field)?.at(i) ?? this.#model[field][i];
  }

  /** A number of an actuator in this episode; undefined if it has none. */
  amount(name: AmountName, actuator: number): Scalar | undefined {
    const place = drawnPlace(this.#plan, name, actuator);
    if (place >= 0) return this.#drawn[place].get();
    return this.#plan.driven.find((one) => one.actuator === actuator)?.known[name];
  }

  /** Draws all for a new episode. `scene`: the world before its start. */
  draw(random: Draws, scene: Scene): void {
    let at = 0;
    for (const amount of this.#plan.drawn) {
      const count = amount.shared ? 1 : amount.actuators.length;
      const ends = amountSources(amount).map((source) =>
        drawnNumbers(source, drawScene(scene, random), amount.place, count),
      );
      for (const x of drawnFrom(amount.distribution, ends, count, random))
        this.#drawn[at++].set(amount.name === "delay" ? round(x) : x);
    }
  }

  /** The controls of this control step, as the task made them. `length`: control steps of the episode so far (u32). */
  take(d: WorldData, length: Int): void {
    const first = eq(length, 0);
    this.#first = first;
    for (const { of, past, followed, control } of this.#lines) {
      const u = this.#given(of, d);
      // until a control has waited, the first of the episode acts
      const before = past.map((v) => select(first, u, v.get(), "f32"));
      past.forEach((v, i) => v.set(before[i]));
      followed?.set(select(first, u, followed.get(), "f32"));
      control.set(u);
    }
  }

  /** Takes the controls of this control step again, where another kernel goes on with it. */
  resume(d: WorldData, length: Int): void {
    this.#first = eq(length, 0);
    for (const { of, control } of this.#lines) control.set(this.#given(of, d));
  }

  /** The control step is over: its controls are past. */
  pass(): void {
    for (const { past, control } of this.#lines) {
      const all = [control, ...past].map((v) => v.get());
      past.forEach((v, i) => v.set(all[i]));
    }
  }

  /** A control within its range; that of a network's motor is of its forces. */
  #given({ actuator, network }: Driven, d: WorldData): Scalar {
    const u = d.ctrl.at(this.#model.actuator_ctrladr[actuator]);
    if (network) return u;
    const { actuator_ctrladr, actuator_ctrllimited, actuator_ctrlrange, opt } = this.#model;
    const c = actuator_ctrladr[actuator];
    if (!actuator_ctrllimited[c] || opt.disableflags & mjtDisableBit.CLAMPCTRL) return u;
    return clamp(u, actuator_ctrlrange[2 * c], actuator_ctrlrange[2 * c + 1]);
  }

  /** What acts in physics step `i` of the control step, where the state moves. */
  drive(m: ModelView, d: WorldData, i: Int, moves: Bool): void {
    if (this.#lines.length === 0) return;
    stage(DRIVEN_STAGE, () => when(moves, () => this.#drive(m, d, i)));
  }

  #drive(m: ModelView, d: WorldData, i: Int): void {
    const starts = and(this.#first, eq(i, 0));
    const inputs = new Map<Line, Scalar[]>();
    for (const line of this.#lines) {
      const { of } = line;
      const u = this.#followed(m, line, this.#delayed(line, i));
      const c = this.#model.actuator_ctrladr[of.actuator];
      if (of.network) inputs.set(line, this.#networkInputs(d, line, u, starts));
      else d.ctrl.set(c, u);
      if (shifts(of)) line.offset.set(this.#offset(d, of, u));
      this.#limit(d, line);
    }
    for (const net of new Set(this.#lines.flatMap(({ of }) => (of.network ? [of.network] : [])))) {
      const lines = this.#lines.filter(({ of }) => of.network === net);
      const forces = networkForces(
        net,
        lines.map((line) => inputs.get(line)!),
      );
      lines.forEach(({ of: { actuator } }, k) => {
        // the model's own gain: one that a world draws is how strong its motor is
        const perUnit = mul(this.#model.actuator_gainprm[10 * actuator], this.#gear(actuator));
        d.ctrl.set(this.#model.actuator_ctrladr[actuator], div(forces[k], perUnit));
      });
    }
  }

  #gear(actuator: number): Scalar {
    return this.#number("actuator_gear", 6 * this.#model.actuator_outadr[actuator]);
  }

  /** The control that was given `delay` physics steps ago. */
  #delayed({ of, past, control }: Line, i: Int): Scalar {
    if (past.length === 0) return control.get();
    const steps = param("nstep", "i32");
    // control steps back: none if the step began so long ago
    const begun = sub(toF32(i), this.amount("delay", of.actuator) ?? 0);
    // half a step late: a quotient of whole numbers may be rounded below the whole one that it is
    const back = neg(floor(div(add(begun, 0.5), toF32(steps))));
    return past.reduce<Scalar>((u, v, k) => select(ge(back, k + 1), v.get(), u, "f32"), control.get());
  }

  /** A control that goes after another with a time constant, exactly for one that is held for the step. */
  #followed(m: ModelView, { of, followed }: Line, u: Scalar): Scalar {
    if (!followed) return u;
    const lag = max(this.amount("lag", of.actuator) ?? 0, SHORTEST);
    const part = sub(1, exp(neg(div(m.timestep, lag))));
    const next = add(followed.get(), mul(part, sub(u, followed.get())));
    followed.set(next);
    return next;
  }

  /** What an encoder reads of the actuator's length, and how far the control is from it without the play. */
  #error(d: WorldData, of: Driven, u: Scalar, gear: Scalar): Scalar {
    const bias = this.amount("bias", of.actuator) ?? 0;
    const backlash = this.amount("backlash", of.actuator);
    const read = mul(gear, add(d.qpos.at(this.#model.jnt_qposadr[of.joint]), bias));
    const error = sub(u, read);
    if (backlash === undefined) return error;
    const half = mul(0.5, mul(abs(gear), backlash));
    return sub(error, clamp(error, neg(half), half));
  }

  /** actuator_biasprm[0] of a servo that reads its encoder and moves within the play. */
  #offset(d: WorldData, of: Driven, u: Scalar): Scalar {
    const { actuator } = of;
    const prm = (k: number) => this.#number("actuator_biasprm", 10 * actuator + k);
    const gear = this.#gear(actuator);
    const bias = mul(mul(prm(1), gear), this.amount("bias", actuator) ?? 0);
    if (of.most.backlash === undefined) return add(prm(0), bias);
    const read = mul(gear, add(d.qpos.at(this.#model.jnt_qposadr[of.joint]), this.amount("bias", actuator) ?? 0));
    // what the play takes of the error, with the servo's stiffness
    const taken = sub(sub(u, read), this.#error(d, of, u, gear));
    return add(add(prm(0), bias), mul(prm(1), taken));
  }

  /** The range of the force at the speed of the joint, within that of the MJCF. */
  bound(d: WorldData): void {
    for (const line of this.#lines) {
      if (shifts(line.of)) line.offset.set(this.#offset(d, line.of, 0));
      this.#limit(d, line);
    }
  }

  #limit(d: WorldData, { of, low, high }: Line): void {
    if (of.most.peak === undefined) return;
    const { actuator } = of;
    const read = (name: AmountName) => this.amount(name, actuator)!;
    const [peak, knee, noLoad] = [read("peak"), read("knee"), read("noLoad")];
    const gear = this.#gear(actuator);
    const scale = abs(gear);
    const sign = select(eq(gear, scale), 1, -1, "f32");
    const speed = mul(sign, d.qvel.at(this.#model.jnt_dofadr[of.joint]));
    const most = (v: Scalar) => div(mul(peak, clamp(div(sub(noLoad, v), sub(noLoad, knee)), 0, 1)), scale);
    const [lower, upper] = [neg(most(neg(speed))), most(speed)];
    const range = (k: number) => this.#number("actuator_forcerange", 2 * actuator + k);
    low.set(of.limited ? max(lower, range(0)) : lower);
    high.set(of.limited ? min(upper, range(1)) : upper);
  }

  #networkInputs(d: WorldData, line: Line, u: Scalar, starts: Bool): Scalar[] {
    const { of, errors, speeds } = line;
    const net = of.network!;
    const now = {
      error: mul(this.#error(d, of, u, 1), net.scale.error),
      speed: mul(d.qvel.at(this.#model.jnt_dofadr[of.joint]), net.scale.speed),
    };
    const past = (list: readonly Variable[], x: Scalar) => [x, ...list.map((v) => select(starts, x, v.get(), "f32"))];
    const [allErrors, allSpeeds] = [past(errors, now.error), past(speeds, now.speed)];
    errors.forEach((v, k) => v.set(allErrors[k]));
    speeds.forEach((v, k) => v.set(allSpeeds[k]));
    const seen = [allErrors, allSpeeds].map((all) => net.history.map((k) => all[k]));
    return (net.order === "errors-speeds" ? seen : seen.toReversed()).flat();
  }
}
