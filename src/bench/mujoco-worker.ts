// worker thread: one world of MuJoCo's WebAssembly under random controls, timed
import { parentPort, workerData } from "node:worker_threads";
import { createOracle } from "../model/oracle.ts";
import { now } from "./machine.ts";
import type { PeerRequest, PeerResult, PeerSetup } from "./mujoco-peer.ts";

const setup = workerData as PeerSetup;
const { model, frameSkip, starts, midst, controls, phases } = setup;
const oracle = await createOracle(model);
const { mujoco, model: m, data: d } = oracle;
const { nq, nv, nu } = model;

let seed = setup.seed;
let age: number | undefined;
let group = 0;

/** A cheap random integer below n; the quality of random controls does not matter here. */
function draw(n: number): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
}

/** Puts the world into one of some states. */
function restart(states: Float64Array): void {
  mujoco.mj_resetData(m, d);
  const start = draw(states.length / (nq + nv)) * (nq + nv);
  if (nq > 0) oracle.write("qpos", states.subarray(start, start + nq));
  if (nv > 0) oracle.write("qvel", states.subarray(start + nq, start + nq + nv));
  group = phases * draw(controls.length / nu / phases);
}

/** Control steps for a time; worlds are reset as often as the environment's. */
function run({ seconds, episodeSteps }: PeerRequest): PeerResult {
  const begin = now();
  let controlSteps = 0;
  let contacts = 0;
  let elapsed = 0;
  age ??= draw(episodeSteps);
  do {
    if (age >= episodeSteps) {
      restart(starts);
      age = 0;
    }
    if (nu > 0) {
      const row = nu * (phases === 1 ? draw(controls.length / nu) : group + (age % phases));
      const ctrl = d.ctrl as Float64Array;
      for (let i = 0; i < nu; i++) ctrl[i] = controls[row + i];
    }
    for (let k = 0; k < frameSkip; k++) mujoco.mj_step(m, d);
    contacts += d.ncon;
    age++;
    controlSteps++;
    elapsed = now() - begin;
  } while (elapsed < seconds);
  return { controlSteps, seconds: elapsed, meanContacts: contacts / controlSteps };
}

restart(midst);
parentPort!.on("message", (request: PeerRequest) => parentPort!.postMessage(run(request)));
parentPort!.postMessage("ready");
