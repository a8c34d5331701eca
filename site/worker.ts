// the worlds of the demo: what corral view has in Node, in a worker of the page
import "../envs/index.ts";
import { makeVec, type NamedOptions } from "../src/env/make.ts";
import { plainTask } from "../src/env/plain-task.ts";
import { taskOf } from "../src/env/registry.ts";
import { loadTaskModel } from "../src/env/task/load.ts";
import type { Task } from "../src/env/task/task.ts";
import type { VectorEnv } from "../src/env/index.ts";
import { readPolicy } from "../src/export/read-policy.ts";
import { CorralError } from "../src/core/errors.ts";
import { isZip } from "../src/model/is-zip.ts";
import { loadModel } from "../src/model/model.ts";
import { decode } from "../src/model/source.ts";
import { Stage } from "../src/render/poses.ts";
import { loadShaders } from "../src/core/shader-text.ts";
import { sceneShader } from "../src/render/renderer.ts";
import { LiveSubject } from "../src/view/live.ts";
import { jsonOf } from "../src/view/messages.ts";
import { Session, type Subject } from "../src/view/session.ts";
import type { FromSession, FromWorker, Opening, ToSession, ToWorker } from "./messages.ts";

const SEED = 1;
/** Speeds that a push adds, along and up at most (m/s). */
const [ALONG, UP] = [4, 3];
/** Milliseconds between two reports of the rate. */
const REPORT_MS = 500;

const tell = (message: FromWorker): void => (globalThis as unknown as Worker).postMessage(message);
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const isMissing = error instanceof CorralError && error.code === "missing-file";
  return isMissing ? `${text}\nHere: drop a zip of the model with all files that it names.` : text;
}

/** Worlds that can be pushed, and whose steps are timed. */
class Pushed {
  readonly subject: Subject;
  push = false;
  #since = performance.now();
  #steps = 0;
  #busy = 0;

  constructor(live: LiveSubject, env: VectorEnv) {
    const forward = live.forward.bind(live);
    live.forward = async () => {
      if (this.push) await pushAll(env);
      this.push = false;
      const began = performance.now();
      const goesOn = await forward();
      this.#told(env.numEnvs, performance.now() - began);
      return goesOn;
    };
    this.subject = live;
  }

  #told(worlds: number, busy: number): void {
    this.#steps++;
    this.#busy += busy;
    const passed = performance.now() - this.#since;
    if (passed < REPORT_MS) return;
    const all = 1000 * worlds * this.#steps;
    tell({ rate: { shown: all / passed, most: all / Math.max(this.#busy, 0.1) } });
    [this.#since, this.#steps, this.#busy] = [performance.now(), 0, 0];
  }
}

/** Throws everything that floats somewhere, and turns what does not. */
async function pushAll(env: VectorEnv): Promise<void> {
  const { qvel } = await env.getState(["qvel"]);
  const nv = qvel.length / env.numEnvs;
  const isFloating = env.model.jnt_type[0] === 0;
  const change = Float64Array.from(qvel, (v, i) => {
    const dof = i % nv;
    if (!isFloating) return v + ALONG * (Math.random() - 0.5);
    return dof > 2 ? v : v + (dof === 2 ? UP * Math.random() : 2 * ALONG * (Math.random() - 0.5));
  });
  await env.setState({ qvel: change });
}

async function taskFor({ model }: Opening): Promise<Task> {
  if (!model) return taskOf("Ant-v5");
  const { name, bytes } = model;
  // what is no XML would be the address of a model
  const isText = !isZip(bytes) && /^\s*</.test(decode(bytes, name));
  const place = isText ? new TextDecoder().decode(bytes) : URL.createObjectURL(new Blob([bytes]));
  const loaded = await loadModel(place).catch((error: unknown) => {
    // by the name that the file has, not by the address that it got here
    if (error instanceof Error && !isText) error.message = error.message.replaceAll(place, name);
    throw error;
  });
  return { ...plainTask(loaded, place), id: loaded.name || name };
}

let pushed: Pushed | undefined;
let live: LiveSubject | undefined;
let policies: readonly ArrayBuffer[] = [];

async function open(opening: Opening): Promise<void> {
  const { worlds, device, port } = opening;
  policies = opening.policies ?? [];
  const task = await taskFor(opening);
  const threads = globalThis.crossOriginIsolated ? {} : { threads: 1 };
  const options = { numEnvs: worlds, device, seed: SEED, recorder: false, ...threads };
  const env = await makeVec(task, options as NamedOptions);
  const model = await loadTaskModel(task, { visuals: true });
  const first = policies[opening.follow ?? 0];
  const policy = first && readPolicy(new Uint8Array(first));
  const actor = policy ? "policy" : "none";
  live = await LiveSubject.create(env, await Stage.create(model), { seed: SEED, policy, actor });
  pushed = new Pushed(live, env);
  const session = new Session(pushed.subject);
  const answer = (message: FromSession, move: Transferable[] = []) => port.postMessage(message, move);
  port.addEventListener("message", ({ data }: MessageEvent<ToSession>) => {
    const done =
      "act" in data
        ? session.command(data.act)
        : session.frame(data.after).then((bytes) => {
            // nothing for a while: the picture asks again
            const frame = bytes ? bytes.slice().buffer : new ArrayBuffer(0);
            answer({ frame }, [frame]);
          });
    done.catch((error: unknown) => answer({ said: textOf(error) }));
  });
  port.start();
  await loadShaders();
  answer({ facts: jsonOf(session.facts), shader: sceneShader() });
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if ("open" in data) open(data.open).catch((error: unknown) => tell({ fault: textOf(error) }));
  else if ("push" in data && pushed) pushed.push = true;
  else if ("follow" in data && policies[data.follow]) live?.follow(readPolicy(new Uint8Array(policies[data.follow])));
});
