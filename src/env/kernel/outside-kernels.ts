// the control step of an environment whose physics is made elsewhere: one kernel until the physics, one
// before each of its steps where actuators act in them, one after it
import { ne, not, select, toF32, toI32, toU32, uadd } from "../../trace/scalar.ts";
import { trace, type Trace, type TraceForm } from "../../trace/graph.ts";
import { stage } from "../../trace/control.ts";
import { fieldSize, type FieldName } from "../../model/fields.ts";
import type { ArenaRequest } from "../../memory/request.ts";
import { fieldRequest } from "../../batch/kernel/record-io.ts";
import { mayOverflow } from "../../batch/kernel/simulation-kernel.ts";
import { drivenNumbers } from "./actuator-line.ts";
import { afterPhysics, givenAction, loadAction } from "./env-kernel.ts";
import type { EnvSpec } from "./env-spec.ts";
import { EnvWorld, type Layouts } from "./env-world.ts";
import { CONTACTS_NEEDED } from "./layout.ts";

/** Arena of what passes between the kernels and the physics. */
export const OUTSIDE = "outside";
const INPUTS = ["ctrl", "qfrc_applied", "xfrc_applied"] as const;
/** What acts in a physics step: which one it is, and controls and numbers of the model in it. */
export const DRIVEN = { step: "driven_step", ctrl: "driven_ctrl", numbers: "driven_numbers" } as const;
const BEFORE = ["before_qpos", "before_qvel"] as const;

/** Derived fields that the physics must give. */
export const outsideOutputs = <O extends object>({ shape, model }: EnvSpec<O>): FieldName[] =>
  shape.outputs.filter((name) => fieldSize(model, name) > 0);

/** Whether controls act otherwise in each physics step. */
export const drives = <O extends object>({ shape }: EnvSpec<O>): boolean => shape.actuators.driven.length > 0;

export function outsideArena<O extends object>(spec: EnvSpec<O>): ArenaRequest {
  const { model } = spec;
  const sized = (name: string, size: number) => (size > 0 ? [fieldRequest(name, "task", size)] : []);
  return {
    name: OUTSIDE,
    access: "read_write",
    fields: [
      ...sized("moves", 1),
      ...sized("status", 1),
      ...sized(CONTACTS_NEEDED, mayOverflow(spec) ? 1 : 0),
      ...sized("before_qpos", model.nq),
      ...sized("before_qvel", model.nv),
      ...INPUTS.flatMap((name) => sized(name, fieldSize(model, name))),
      ...(drives(spec)
        ? [
            ...sized(DRIVEN.step, 1),
            ...sized(DRIVEN.ctrl, model.nu),
            ...sized(DRIVEN.numbers, drivenNumbers(spec.shape.actuators).length),
          ]
        : []),
      ...outsideOutputs(spec).flatMap((name) => sized(name, fieldSize(model, name))),
    ],
  };
}

/** Worlds with `autoreset: "disabled"` until their physics: action, controls, events. */
export function traceBegin<O extends object>(spec: EnvSpec<O>, arenas: Layouts, form: TraceForm): Trace {
  const { params, exact, model } = spec;
  const body = () => {
    const e = new EnvWorld(spec, arenas);
    const { w } = e;
    e.loadEpisode();
    w.load();
    const moves = not(ne(e.ended.get(), 0));
    loadAction(e);
    stage("events", () => e.disturb(moves));
    const io = e.io(OUTSIDE);
    io.store("moves", [select(moves, 1, 0, "f32")]);
    io.store("status", [toF32(w.status.get())]);
    if (model.nq > 0) io.store("before_qpos", e.before.qpos);
    if (model.nv > 0) io.store("before_qvel", e.before.qvel);
    for (const name of INPUTS)
      if (fieldSize(model, name) > 0) {
        const given = name === "ctrl" || spec.shape.forces.includes(name);
        io.store(name, given ? w.d[name].all() : Array<number>(fieldSize(model, name)).fill(0));
      }
    e.store();
  };
  return trace(body, { ...form, exact, params });
}

/** What acts in a physics step, from the state before it: controls, and numbers of the model that go with them. */
export function traceDrive<O extends object>(spec: EnvSpec<O>, arenas: Layouts, form: TraceForm): Trace {
  const { params, exact, shape } = spec;
  const body = () => {
    const e = new EnvWorld(spec, arenas);
    const { w, actuators } = e;
    e.loadEpisode();
    w.load();
    const io = e.io(OUTSIDE);
    io.loadInto(w.d.ctrl);
    actuators.resume(w.d, e.length.get());
    actuators.drive(w.m, w.d, toI32(io.load(DRIVEN.step)[0]), ne(io.load("moves")[0], 0));
    io.store(DRIVEN.ctrl, w.d.ctrl.all());
    const numbers = drivenNumbers(shape.actuators);
    const own = actuators.perWorld;
    if (numbers.length > 0)
      io.store(
        DRIVEN.numbers,
        numbers.map(({ field, index }) => own.get(field)!.at(index)!),
      );
    e.store();
  };
  return trace(body, { ...form, exact, params });
}

/** What the task makes of the state that the physics left. */
export function traceEnd<O extends object>(spec: EnvSpec<O>, arenas: Layouts, form: TraceForm): Trace {
  const { params, exact, model } = spec;
  const body = () => {
    const e = new EnvWorld(spec, arenas);
    const { w } = e;
    e.loadEpisode();
    w.load();
    const io = e.io(OUTSIDE);
    const [qpos, qvel] = BEFORE.map((name) => (model[name === "before_qpos" ? "nq" : "nv"] > 0 ? io.load(name) : []));
    e.resume(givenAction(e), { qpos, qvel });
    w.flag(toU32(io.load("status")[0]));
    w.needed?.set(toI32(io.load(CONTACTS_NEEDED)[0]));
    if (model.nu > 0) io.loadInto(w.d.ctrl);
    if (drives(spec)) {
      e.actuators.resume(w.d, e.length.get());
      e.actuators.pass();
      // what acted last
      io.load(DRIVEN.ctrl).forEach((u, i) => w.d.ctrl.set(i, u));
    }
    for (const name of outsideOutputs(spec)) io.loadInto(w.d[name]);
    const endedBefore = e.ended.get();
    const waits = ne(endedBefore, 0);
    w.check();
    e.length.set(select(waits, e.length.get(), uadd(e.length.get(), 1)));
    stage("task", () => afterPhysics(e, waits, false, { endedBefore, merged: false }));
    e.store();
  };
  return trace(body, { ...form, exact, params });
}
