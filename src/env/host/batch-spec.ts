// an environment as a batch: its arenas, parameters and kernels, before any device
import { describe } from "../../model/model.ts";
import { checkSupported } from "../../model/supported.ts";
import type { BatchParam, BatchSpec } from "../../batch/batch.ts";
import { defaultContacts, unrollByDefault } from "../../batch/kernel/form.ts";
import { isWide } from "../../batch/kernel/wide.ts";
import { mayOverflow } from "../../batch/kernel/simulation-kernel.ts";
import { simParams } from "../../batch/params.ts";
import { snapshotArenas } from "../../batch/snapshot.ts";
import { recordArenas } from "../../record/arenas.ts";
import { monitorArenas, monitorKernels } from "../../monitor/kernels.ts";
import { RECORD_PARAMS, recordKernels } from "../../record/kernels.ts";
import { traceReset, traceStep, type EnvSpec } from "../kernel/env-kernel.ts";
import { CONTACTS_NEEDED, envArenas, SNAPSHOT_ARENAS, monitoredOf, STATES } from "../kernel/layout.ts";
import { statusMasks, type Settings } from "./options.ts";
import { actingSpace } from "../task/action-options.ts";
import { actuatorPlan, withForceLimits } from "../task/actuators.ts";
import { badTask, shapeOf } from "../task/shape.ts";
import type { Randomisation, Task, Term } from "../task/task.ts";
import { badTerm, placeOf } from "../task/term-value.ts";
import { checkTerrain, terrainDraws } from "../task/terrain.ts";
import { velocityLimit } from "../task/terms/limits.ts";
import { EPOCH } from "../kernel/trips.ts";
import { tracedTask } from "../task/traced-task.ts";

/** The task with what the options say of worlds' own numbers, and with what limits leave to it. */
function limitedTask<O extends object>(task: Task<O>, { vec, model, limits }: Settings<O>): Task<O> {
  const { drawn, terminate } = limits;
  const ends = drawn.map(({ joint, end, between }): [string, Randomisation] => {
    const name = describe(model, "joint", joint);
    if (end === "speed") return [`most speed of ${name}`, { field: "speed_limit", of: joint, set: between }];
    return [
      `${end === 0 ? "low" : "high"} end of ${name}`,
      { field: "jnt_range", of: joint, element: end, set: between },
    ];
  });
  const terrain = task.terrain ? terrainDraws(task.terrain, task.id) : {};
  const taken = Object.keys(terrain).find((name) => name in { ...task.randomise, ...vec.randomise });
  if (taken !== undefined)
    throw badTerm(
      placeOf(task, "randomise", taken),
      "the terrain is drawn by this name; give it another",
      "bad-randomise",
    );
  const randomise = { ...terrain, ...task.randomise, ...vec.randomise, ...Object.fromEntries(ends) };
  const own = Object.keys(randomise).length > 0 ? { ...task, randomise } : task;
  if (terminate.length === 0) return own;
  const tooFast = ({ joint, limit }: (typeof terminate)[number]): [string, Term<O>] => [
    `speed of ${describe(model, "joint", joint)}`,
    velocityLimit(limit, [joint]),
  ];
  const terms = task.terminated;
  return {
    ...own,
    terminated: (scene) => ({
      ...(typeof terms === "function" ? terms(scene) : terms),
      ...Object.fromEntries(terminate.map(tooFast)),
    }),
  };
}

/** The definition of an environment: what its kernels are specialised to, and its batch for any number of worlds. */
export interface EnvDefinition<O extends object = object> {
  readonly spec: EnvSpec<O>;
  readonly batch: (numEnvs: number) => BatchSpec;
}

/**
 * Defines an environment from its settings. Needs no device. `monitorBytes`: what a monitor takes of the host.
 * @throws CorralError unsupported-feature, bad-task, bad-space
 */
export function defineEnv<O extends object>(given: Task<O>, settings: Settings<O>, monitorBytes = 0): EnvDefinition<O> {
  const { vec, options } = settings;
  const actuators = actuatorPlan(settings.model, settings.actuators, vec.frameSkip);
  const model = withForceLimits(settings.model, actuators);
  checkTerrain(given, model);
  const task = limitedTask(given, settings);
  checkSupported(model);
  if (!task.actionSpace && model.nu === 0)
    throw badTask(task.id, "the model has no actuators; give the task an actionSpace and a control");
  const { action, actuation } = actingSpace(task, settings);
  const traced = tracedTask(task, model, vec.observation);
  const nconmax = vec.nconmax ?? defaultContacts(model);
  const named = shapeOf(traced, model, { options, action, part: actuation.part, actuators });
  const shape = mayOverflow({ model, nconmax }) ? { ...named, infos: [...named.infos, CONTACTS_NEEDED] } : named;
  const params: BatchParam[] = [
    ...simParams(model).map((p) => (p.name === "nstep" ? { ...p, initial: vec.frameSkip } : p)),
    { name: "dt", type: "f32", initial: model.opt.timestep * vec.frameSkip },
    { name: "max_episode_steps", type: "u32", initial: Math.min(vec.maxEpisodeSteps, 0xffffffff) },
    { name: EPOCH, type: "u32", initial: 1 },
    ...(vec.recorder ? RECORD_PARAMS : []),
  ];
  const { voids, ends } = statusMasks(vec);
  const spec: EnvSpec<O> = {
    task: traced,
    options,
    model,
    shape,
    action,
    autoreset: vec.autoreset,
    voids,
    ends,
    finite: settings.finite,
    nconmax,
    trips: vec.trip,
    exact: vec.device === "cpu-f64",
    params: params.map(({ name, type }) => ({ name, type })),
    actuation,
    rewardClip: vec.reward?.clip,
  };
  const arenas = envArenas({ model, shape, action, actuation, finalObs: vec.autoreset === "same-step" });
  const kept = arenas.filter(({ name }) => SNAPSHOT_ARENAS.includes(name));
  const states = arenas.filter(({ name }) => STATES.includes(name));
  const actions = arenas.find(({ name }) => name === "action")!;
  const monitored = monitoredOf(arenas);
  const batch = (numEnvs: number): BatchSpec => ({
    name: task.id,
    mjcf: model.source.xml,
    numEnvs,
    params,
    unrolled: (target) => vec.unroll ?? unrollByDefault(model, target, isWide(model, vec.arithmetic, target)),
    wide: (target) => isWide(model, vec.arithmetic, target),
    host: vec.monitor ? [{ name: "the monitor's MuJoCo", bytes: monitorBytes }] : [],
    arenas: [
      ...arenas,
      ...(vec.recorder ? recordArenas(states, actions, vec.recorder) : []),
      ...(vec.monitor ? monitorArenas(monitored, vec.monitor) : []),
      ...(vec.snapshotEvery === undefined ? [] : snapshotArenas(kept)),
    ],
    kernels: [
      { name: "step", isStep: true, trace: (arenas, form) => traceStep(spec, arenas, form) },
      { name: "reset", trace: (arenas, form) => traceReset(spec, arenas, form) },
      ...(vec.recorder
        ? recordKernels(
            states.map(({ name }) => name),
            vec.recorder,
            spec.params,
          )
        : []),
      ...(vec.monitor
        ? monitorKernels(
            monitored.map(({ name }) => name),
            vec.monitor,
            spec.params,
          )
        : []),
    ],
  });
  return { spec, batch };
}
