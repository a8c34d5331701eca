import { mkdtempSync, openSync, readSync, closeSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/make.ts";
import type { ArrayTable } from "../../../src/serve/mapped-file.ts";
import { servePipe } from "../../../src/serve/pipe.ts";
import { Service } from "../../../src/serve/service.ts";
import { encode, PROTOCOL } from "../../../src/serve/wire.ts";

interface Reply {
  readonly id: number;
  readonly ok?: Record<string, unknown> & { readonly of: number; readonly arrays: ArrayTable };
  readonly error?: { readonly code: string; readonly message: string };
}

const peers: Peer[] = [];
afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.end()));
});

/** The other side: says a line, and waits for the one that answers it. */
class Peer {
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  readonly #service = new Service({ envOf: async (name) => name });
  readonly #served = servePipe(this.#service, this.#input, this.#output);
  readonly #lines: AsyncIterator<string>;
  #next = 1;
  /** Calls whose first arrays were there before their answer. */
  readonly parts: number[] = [];

  constructor() {
    peers.push(this);
    this.#output.setEncoding("utf8");
    this.#lines = linesOf(this.#output);
  }

  async say(line: string): Promise<Reply> {
    // in pieces, as a pipe may bring it
    const bytes = Buffer.from(`${line}\n`);
    for (const piece of [bytes.subarray(0, 9), bytes.subarray(9)]) this.#input.write(piece);
    for (;;) {
      const { value } = await this.#lines.next();
      const said = value as string;
      if (!said.startsWith("+")) return JSON.parse(said) as Reply;
      this.parts.push(Number(said));
    }
  }

  call(call: string, of?: number, given: object = {}): Promise<Reply> {
    return this.say(encode({ id: this.#next++, call, ...(of === undefined ? {} : { of }), with: given }));
  }

  async end(): Promise<void> {
    this.#input.end();
    await this.#served;
    await this.#service.close();
  }
}

async function* linesOf(stream: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

/** A file that the peer has made for a table's arrays. */
function fileFor({ bytes }: ArrayTable): string {
  const path = join(mkdtempSync(join(tmpdir(), "corral-serve-")), "arrays");
  writeFileSync(path, "");
  truncateSync(path, bytes);
  return path;
}

const rowOf = (table: ArrayTable, name: string) => table.arrays.find((row) => row.name === name)!;

test("a peer of another version, or one that does not say hello, is refused", async () => {
  const peer = new Peer();
  expect((await peer.call("list")).error?.code).toBe("bad-protocol");
  expect((await peer.call("hello", undefined, { protocol: PROTOCOL + 1 })).error?.code).toBe("bad-protocol");
  expect((await peer.call("hello", undefined, { protocol: PROTOCOL })).ok).toMatchObject({ protocol: PROTOCOL });
  expect((await peer.call("list")).ok!.ids).toContain("CartPole");
});

test("a second client is refused, and the first goes on", async () => {
  const peer = new Peer();
  await peer.call("hello", undefined, { protocol: PROTOCOL });
  expect((await peer.call("hello", undefined, { protocol: PROTOCOL })).error?.code).toBe("second-client");
  expect((await peer.call("list")).ok!.ids).toContain("CartPole");
});

test("what cannot be read is refused with a code, and the next call is served", async () => {
  const peer = new Peer();
  for (const line of ["{", "[]", '{"id":-1,"call":"list"}', '{"id":1,"call":"a b"}', '{"id":1,"call":"list","with":3}'])
    expect((await peer.say(line)).error?.code).toBe("bad-request");
  await peer.call("hello", undefined, { protocol: PROTOCOL });
  expect((await peer.call("lst")).error).toMatchObject({ code: "unknown-call" });
  expect((await peer.call("constructor")).error).toMatchObject({ code: "unknown-call" });
  expect((await peer.call("step", 7)).error).toMatchObject({ code: "unknown-handle" });
  expect((await peer.call("makeVec", undefined, { env: "CartPol", options: {} })).error?.message).toContain("CartPole");
});

test("an environment steps through a mapped file to the bits of the same one here", async () => {
  const peer = new Peer();
  await peer.call("hello", undefined, { protocol: PROTOCOL });
  const options = { num_envs: 3, seed: 4, device: "cpu", maxEpisodeSteps: Infinity };
  const made = (await peer.call("makeVec", undefined, { env: "InvertedPendulum-v5", options })).ok!;
  expect((await peer.call("reset", made.of)).error?.code).toBe("not-mapped");
  const path = fileFor({ arrays: [], bytes: made.arrays.bytes - 64 });
  expect((await peer.call("map", made.of, { path })).error?.code).toBe("bad-map");
  truncateSync(path, made.arrays.bytes);
  expect((await peer.call("map", made.of, { path })).ok).toEqual({});
  expect((await peer.call("reset", made.of)).ok).toMatchObject({ infos: expect.any(Array) as string[] });

  const file = openSync(path, "r+");
  const actions = Float32Array.of(0.5, -0.5, 1);
  writeSync(file, actions, 0, actions.byteLength, rowOf(made.arrays, "actions").offset);
  const stepped = await peer.call("step", made.of);
  expect(stepped.ok!.infos).toContain("reward_survive");
  expect(peer.parts).toEqual([stepped.id]);
  const observations = new Float32Array(12);
  readSync(file, observations, 0, observations.byteLength, rowOf(made.arrays, "observations").offset);
  closeSync(file);

  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 3, seed: 4, device: "cpu" });
  await env.reset();
  const { observations: want } = await env.step(actions);
  expect(observations).toEqual(want);
  expect((await peer.call("close", made.of)).ok).toEqual({});
  expect((await peer.call("step", made.of)).error?.code).toBe("unknown-handle");
});

test("worlds of an environment, and of what is forked from it, are drawn one at a time", async () => {
  const peer = new Peer();
  await peer.call("hello", undefined, { protocol: PROTOCOL });
  const [width, height] = [48, 32];
  const asked = { env: "InvertedPendulum-v5", options: { num_envs: 2, device: "wasm", threads: 1 } };
  const wrong = { ...asked, pictures: { width, camera_name: "nowhere" } };
  expect((await peer.call("makeVec", undefined, wrong)).error?.message).toContain('camera_name is "nowhere"');
  const made = (await peer.call("makeVec", undefined, { ...asked, pictures: { width, height } })).ok!;
  const table = rowOf(made.arrays, "picture");
  expect(table).toMatchObject({ dtype: "uint8", shape: [height, width, 3] });

  const drawn = async (of: number, path: string, world: number) => {
    expect((await peer.call("render", of, { world })).ok).toEqual({});
    const bytes = new Uint8Array(width * height * 3);
    const file = openSync(path, "r");
    readSync(file, bytes, 0, bytes.length, table.offset);
    closeSync(file);
    return bytes;
  };
  const path = fileFor(made.arrays);
  await peer.call("map", made.of, { path });
  const values = Float64Array.of(0.5, 1);
  const file = openSync(path, "r+");
  writeSync(file, values, 0, values.byteLength, rowOf(made.arrays, "values").offset);
  closeSync(file);
  await peer.call("setState", made.of, { fields: [["qpos", 2]], worlds: [1] });
  const [upright, fallen] = [await drawn(made.of, path, 0), await drawn(made.of, path, 1)];
  expect(new Set(upright).size).toBeGreaterThan(5);
  expect(fallen).not.toEqual(upright);
  expect((await peer.call("render", made.of, { world: 2 })).error?.code).toBe("bad-world");

  const forked = (await peer.call("fork", made.of, { worlds: [1] })).ok!;
  expect(rowOf(forked.arrays, "picture").offset).toBeLessThanOrEqual(table.offset);
});
