// collecting threads: the same rows for any count of them, whole batches only, no device, and all of it given back
// alone in its process, since threads, files and drivers of the process are counted: @vitest-environment-options {"alone":"collector"}
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/make.ts";
import { register, taskOf } from "../../src/env/registry.ts";
import { hostBudget } from "../../src/memory/host-budget.ts";
import { BudgetExceededError } from "../../src/memory/index.ts";
import { layOutNetwork } from "../../src/rl/networks/networks.ts";
import type { SquashedSpec } from "../../src/rl/networks/host-actor.ts";
import { planCollector } from "../../src/runs/collector-plan.ts";
import { Collector, type CollectedBatch, type CollectorOptions } from "../../src/runs/collector.ts";

const ID = "InvertedPendulum-v5";
const NO_DRIVER = { threads: 0, files: 0, drivers: 0 };
/** Threads of one collector. From sources each takes two seconds to start. */
const COUNT = process.env.CORRAL_FULL ? 64 : 2;

const layers = layOutNetwork("policy", [4, 2], { activation: "relu", layerNorm: false }, 1, 0);
const actor: SquashedSpec = { layers, actions: 1, low: [-3], high: [3], minLogStd: -20, maxLogStd: -19 };
const BASE: CollectorOptions = { numEnvs: 6, steps: 25, observations: 4, actor, seed: 3, threads: 2 };

/** A policy that takes the same action everywhere, which says which version it is of. */
function saying(version: number): Float32Array {
  const params = new Float32Array(4 * layers[0].b + 8);
  params[4 * layers[0].b] = 0.1 * version;
  return params;
}

function look() {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return {
    threads: readdirSync("/proc/self/task").length,
    files: readdirSync("/proc/self/fd").length,
    drivers: (maps.match(/dawn\.node|vulkan|swiftshader|lvp/gi) ?? []).length,
  };
}

/** Threads end a little after they say so. */
async function settled(least: ReturnType<typeof look>) {
  for (let i = 0; i < 100 && look().threads > least.threads; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const now = look();
  return {
    threads: Math.max(0, now.threads - least.threads),
    files: Math.max(0, now.files - least.files),
    drivers: now.drivers - least.drivers,
  };
}

let start: ReturnType<typeof look>;
beforeAll(async () => {
  // MuJoCo, and the threads that Node makes at first use
  await (await Collector.create(ID, { ...BASE, threads: 1 })).close();
  start = look();
});
afterEach(async () => expect(await settled(start)).toEqual(NO_DRIVER));

const copyOf = ({ observations, actions, rewards, flags, stamps }: CollectedBatch) =>
  [observations, actions, rewards, flags, stamps].map((values) => [...values]);

test(`${COUNT} threads collect what one does, and none loads a driver`, async () => {
  const collected = async (threads: number) => {
    await using collector = await Collector.create(ID, { ...BASE, numEnvs: Math.max(6, COUNT), threads });
    const first = await collector.collect(saying(0), { random: true });
    const rows = copyOf(first);
    const second = await collector.collect(saying(1));
    expect(look().drivers).toBe(0);
    // batches follow one another without a gap, and a step after an end only starts the next episode
    const width = first.numEnvs * 4;
    expect([...second.observations.subarray(0, width)]).toEqual(rows[0].slice(-width));
    for (let w = 0; w < first.numEnvs; w++) {
      const flags = [...rows[3], ...second.flags].filter((_, i) => i % first.numEnvs === w);
      flags.forEach((flag, t) => expect(flag === 4).toBe(t > 0 && [1, 2, 3].includes(flags[t - 1])));
    }
    expect(first.episodes.count).toBe(rows[3].filter((flag) => flag > 0 && flag < 4).length);
    return [...rows, ...copyOf(second)];
  };
  expect(await collected(COUNT)).toEqual(await collected(1));
});

test("on the device wasm they collect what they do in JavaScript", async () => {
  const collected = async (device: "wasm" | "cpu") => {
    await using collector = await Collector.create(ID, { ...BASE, env: { device } });
    return copyOf(await collector.collect(saying(0), { random: true }));
  };
  expect(await collected("wasm")).toEqual(await collected("cpu"));
  // words of 32 bits are half of JavaScript's numbers
  const worldsOf = async (device: "wasm" | "cpu") => {
    const { fields } = await planCollector(ID, { ...BASE, numEnvs: 20_000, threads: 2, env: { device } });
    return fields.find(({ name }) => name === "worlds")!.bytes;
  };
  const [words, numbers] = [await worldsOf("wasm"), await worldsOf("cpu")];
  expect(Math.abs(words / numbers - 0.5)).toBeLessThan(0.05);
});

test.each(["float32", "float64"] as const)("the plan has the bytes of what threads make, in %s", async (arithmetic) => {
  const env = { device: "wasm", arithmetic } as const;
  const { fields } = await planCollector("HandTurnCube", { ...BASE, numEnvs: 8, threads: 1, env });
  await using made = await makeVec("HandTurnCube", { ...env, numEnvs: 8, threads: 1 });
  expect(fields.find(({ name }) => name === "worlds")!.bytes).toBe(made.plan.totalBytes);
});

test("a batch is of one version, one update behind, and stays whole while the next is collected", async () => {
  await using collector = await Collector.create(ID, BASE);
  const seen: number[] = [];
  collector.start(saying(1));
  for (let update = 1; update <= 6; update++) {
    const batch = await collector.take();
    const params = saying(update + 1);
    collector.start(params);
    // what the caller does to its array afterwards is not collected with
    params.fill(99);
    const before = copyOf(batch);
    const whole = () => {
      expect(batch.stamps.every((stamp) => stamp === update)).toBe(true);
      for (const action of batch.actions) expect(Math.abs(action - Math.tanh(0.1 * update))).toBeLessThan(1e-6);
    };
    whole();
    // long enough for the threads to be through with the next batch
    await new Promise((resolve) => setTimeout(resolve, 60));
    whole();
    expect(copyOf(batch)).toEqual(before);
    seen.push(batch.version);
    expect(() => collector.start(params)).toThrowError("[collect-in-flight]");
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
});

describe("what fails is told, and holds nothing", () => {
  const codeOf = (options: Partial<CollectorOptions>, id = ID) =>
    Collector.create(id, { ...BASE, ...options }).then(
      (collector) => collector.close(),
      (error: { code: string }) => error.code,
    );

  test("options, before a thread is started", async () => {
    expect(await codeOf({ numEnvs: 0 })).toBe("bad-option");
    expect(await codeOf({ steps: 1.5 })).toBe("bad-option");
    expect(await codeOf({ seed: -1 })).toBe("bad-seed");
    expect(await codeOf({ env: { device: "gpu" } })).toBe("bad-option");
    expect(await codeOf({ env: { no_such_option: 1 } })).toBe("unknown-option");
    const misspelt = { ...BASE, thread: 2 };
    await expect(Collector.create(ID, misspelt)).rejects.toThrow(
      'a collector has no option "thread"; nearest: threads',
    );
    expect(await codeOf({}, "NoSuchEnvironment")).toBe("unknown-env");
    for (const modules of ["./my-task.mjs", ["./my-task.mjs"], [new URL("file:///my-task.mjs")]])
      await expect(Collector.create(ID, { ...BASE, modules: modules as string[] })).rejects.toThrow(
        /^\[bad-option\] modules is .*; pass a list of URLs, such as/,
      );
    const { live, limit, source } = hostBudget().report();
    hostBudget().change({ limit: live + 10_000 });
    await expect(Collector.create(ID, BASE)).rejects.toThrowError(BudgetExceededError);
    await expect(Collector.create(ID, BASE)).rejects.toThrowError(/fewer (steps|worlds)/);
    hostBudget().change({ limit, source });
  });

  test("a thread that cannot start, and one that ends in the middle", async () => {
    const { live } = hostBudget();
    const broken = "data:text/javascript,throw new Error('broken')";
    expect(await codeOf({ threads: 1, modules: [broken] })).toBe("collector-failed");
    expect(await codeOf({ threads: 1, observations: 5 })).toBe("collector-failed");
    // what this thread knows of a program, others import
    const mine = { ...taskOf(ID), id: "known-here-alone" };
    register(mine);
    await expect(Collector.create(mine.id, { ...BASE, threads: 1 })).rejects.toThrow(
      /no environment is called "known-here-alone".* Pass modules: the URLs of files that define it/,
    );
    const ends =
      "import { parentPort } from 'node:worker_threads';" +
      "parentPort.on('message', ({ stamp }) => stamp === 2 && process.exit(3));";
    const collector = await Collector.create(ID, {
      ...BASE,
      threads: 1,
      modules: [`data:text/javascript,${encodeURIComponent(ends)}`],
    });
    await collector.collect(saying(1));
    await expect(collector.collect(saying(2))).rejects.toThrowError(
      /\[collector-failed\].*the thread of worlds? \d.* code 3/,
    );
    await expect((async () => collector.start(saying(3)))()).rejects.toMatchObject({ code: "collector-failed" });
    await collector.close();
    expect(hostBudget().live).toBe(live);
  });

  test("closing in the middle of a batch, and what comes after", async () => {
    const { live } = hostBudget();
    const collector = await Collector.create(ID, { ...BASE, threads: 1, steps: 2000 });
    expect(hostBudget().live - live).toBe(collector.bytes);
    await expect(collector.take()).rejects.toMatchObject({ code: "nothing-started" });
    expect(() => collector.start(new Float32Array(3))).toThrowError("[bad-policy]");
    expect(() => collector.start(undefined as never)).toThrowError("[bad-policy] the policy has 0 numbers");
    expect(() => collector.start(saying(1), { randm: true } as never)).toThrowError("[unknown-option]");
    collector.start(saying(1));
    const taken = collector.take().catch((error: unknown) => error);
    await collector.close();
    expect(await taken).toMatchObject({ code: "closed" });
    await collector.close();
    expect(() => collector.start(saying(1))).toThrowError("[closed]");
    expect(hostBudget().live).toBe(live);
  });
});
