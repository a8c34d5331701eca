// reads bundles, which may come from untrusted sources: a bundle is data, and only what the format defines is accepted
// (bundle-format.ts), every part held against the others, before anything is built from it.
import { CorralError } from "../core/errors.ts";
import { sha256 } from "../core/packing.ts";
import { unzip } from "../core/read-bytes.ts";
import { Mismatch, type Kind } from "../core/schema.ts";
import { show } from "../core/show.ts";
import { formatBytes } from "../core/units.ts";
import { reasonOf } from "../core/write-bytes.ts";
import { DEFAULT_TILE_WIDTH } from "../batch/batch.ts";
import { cutKernel, type CutKernel } from "../batch/kernel/cuts.ts";
import { emissionFor } from "../batch/kernel/emission.ts";
import { layoutArena } from "../memory/layout.ts";
import { modelKind } from "../model/model-format.ts";
import type { ModelSource } from "../model/model.ts";
import { loadTrace } from "../trace/load.ts";
import { canCutAt } from "../trace/cut.ts";
import type { Trace } from "../trace/graph.ts";
import { FIXED_PARAMS, TABLES, toWgsl, type WgslKernel } from "../trace/wgsl.ts";
import { aboutKind, recordingKind, tablesKind } from "./bundle-format.ts";
import { kernelHashes, type Bundle, type BundleAbout } from "./bundle.ts";
import { HOST_WORDS } from "./host-words.ts";
import { unpack } from "./unpack.ts";
import { packedWords, type Recording } from "./recorder.ts";
import { wordsOf } from "./arenas.ts";
import { corrupt, readSealed, type Sealed } from "./sealed.ts";

/** Bytes of the arenas of a bundle's worlds: so many, and so many for each byte of its records. */
const SMALL_ARENAS = 2 ** 28;
const ARENA_RATIO = 64;

/**
 * Reads a bundle and checks every byte and every number of it.
 * @throws CorralError no-bundle, bundle-newer, bundle-corrupt
 */
export function readBundle(path: string): Bundle {
  const sealed = readSealed(path);
  try {
    return new BundleReader(sealed).bundle;
  } catch (error) {
    if (error instanceof Mismatch) throw corrupt(path, error.message);
    if (error instanceof CorralError && error.code === "bad-trace")
      throw corrupt(path, error.message.replace(/^\[bad-trace\] /, "").replace(/\.[^.]*\.$/, ""));
    throw error;
  }
}

class BundleReader {
  readonly bundle: Bundle;
  readonly #sealed: Sealed;
  readonly #about: BundleAbout;

  constructor(sealed: Sealed) {
    this.#sealed = sealed;
    const about = aboutKind.read(sealed.about, []);
    this.#about = about;
    this.#checkAbout();

    const program = this.#unzipped("program.json.gz");
    this.#expect(sha256(program) === about.program, "program.json.gz is not the program of the manifest");
    const trace = loadTrace(this.#plain(program, "program.json.gz"));
    const kernel = this.#kernel(trace, program);
    const cut = this.#cut(trace, kernel);
    const records = this.#unzipped("records.json.gz", this.#mostRecords());
    const recording = this.#read(recordingKind, this.#plain(records, "records.json.gz"), "records");
    this.#checkRecording(recording, records.length, cut);
    const compiled = this.#read(modelKind, this.#plain(this.#unzipped("model.json.gz"), "model.json.gz"), "model");
    const whole = compiled.leftOut === undefined;
    const model = { ...compiled, source: { ...this.#source(), ...(whole ? { visuals: true as const } : {}) } };
    this.bundle = { path: sealed.path, about, model, kernel, cut, trace, recording };
    this.#checkModel();
  }

  #expect(holds: boolean, otherwise: string): void {
    if (!holds) throw corrupt(this.#sealed.path, otherwise);
  }

  #read<T>(kind: Kind<T>, value: unknown, what: string): T {
    return kind.read(value, [what]);
  }

  #file(name: string): Uint8Array {
    const bytes = this.#sealed.files.get(name);
    if (bytes !== undefined) return bytes;
    throw corrupt(this.#sealed.path, `there is no ${name}`, { file: name });
  }

  #unzipped(name: string, most?: number): Uint8Array {
    try {
      return unzip(this.#file(name), most);
    } catch (error) {
      if (error instanceof CorralError) throw error;
      throw corrupt(this.#sealed.path, `${name} cannot be unpacked (${reasonOf(error)})`, { file: name });
    }
  }

  #plain(bytes: Uint8Array, name: string): unknown {
    return unpack(bytes, `${name} of ${this.#sealed.path}`);
  }

  #text(name: string): string {
    return new TextDecoder().decode(this.#file(name));
  }

  #source(): ModelSource {
    const { file } = this.#about.model;
    const assets: Record<string, Uint8Array> = {};
    for (const [name, bytes] of this.#sealed.files) {
      if (name.startsWith("mjcf/") && name !== `mjcf/${file}`) assets[name.slice(5)] = bytes;
    }
    return { xml: this.#text(`mjcf/${file}`), file, assets };
  }

  /** Worlds, steps and places in results. */
  #checkAbout(): void {
    const { env, worlds, tripped, steps, batch, device } = this.#about;
    this.#expect(steps.first < steps.last, `its steps go from ${steps.first} to ${steps.last}`);
    const ids = new Map(worlds.map(({ world, id }) => [world, id]));
    this.#expect(ids.size === worlds.length, "a world of it is there twice");
    this.#expect(
      worlds.every(({ world }) => world < env.numEnvs),
      `a world of it is none of ${env.numEnvs}`,
    );
    for (const t of tripped) {
      this.#expect(ids.get(t.world) === t.id, `world ${t.world} (id ${t.id}) failed, and is none of its worlds`);
      this.#expect(t.step <= steps.last, `world ${t.world} failed in step ${t.step}, after the last, ${steps.last}`);
    }
    const names = batch.arenas.map((a) => a.name);
    this.#expect(new Set(names).size === names.length, "an arena of it is there twice");
    const params = batch.params.map((p) => p.name);
    this.#expect(new Set(params).size === params.length, "a parameter of it is there twice");
    this.#expect((device.precision === "gpu") === (device.adapter !== null), "its device is of no precision");
    const { actionLow, actionHigh, actionSize } = env;
    const ends = [actionLow, actionHigh].map((values) => values?.length ?? "no");
    this.#expect(
      ends.every((length) => length === "no") || ends.every((length) => length === actionSize),
      `its actions have ${actionSize} numbers, bounds of them ${ends.join(" and ")}`,
    );
    const result = this.#elements("result");
    for (const [name, at] of Object.entries(env.result)) {
      this.#expect(at <= result, `${name} lies at ${at} of a result of ${result} numbers`);
    }
    for (const name of ["status", "reset", "episode_length", ...HOST_WORDS])
      this.#expect((env.result[name] ?? Infinity) < result, `a result of it has no ${name}`);
  }

  /** Elements that a world has in an arena. */
  #elements(arena: string): number {
    const found = this.#about.batch.arenas.find((a) => a.name === arena);
    this.#expect(found !== undefined, `there is no arena ${arena}`);
    return found!.fields.reduce((sum, f) => sum + (f.perWorld ?? 0), 0);
  }

  /** Most bytes of records that are what the manifest says. */
  #mostRecords(): number {
    const { worlds, steps, batch } = this.#about;
    const words = batch.arenas.reduce((sum, a) => sum + this.#elements(a.name), 0);
    const made = steps.last - steps.first;
    // base64 of float64, and the names and numbers about it
    const perWord = 11;
    const segments = Math.min(made + 1, 256);
    return (
      2 ** 16 +
      segments * 2 ** 16 +
      perWord * worlds.length * (words * (segments + 1) + this.#elements("action") * made)
    );
  }

  /** The kernel, which must be that of the program: the same buffers, parameters and tables. */
  #kernel(trace: Trace, program: Uint8Array): WgslKernel {
    const { batch, device, env, shader } = this.#about;
    const arenas = new Map(batch.arenas.map((a) => [a.name, a.access]));
    for (const { name, access } of trace.buffers) {
      const given = arenas.get(name);
      this.#expect(given === access || given === "read_write", `its program uses ${name}, which is no such arena`);
    }
    const params = batch.params.map(({ name, type }) => ({ name, type }));
    this.#expect(
      isSame(
        trace.params.map(({ name, type }) => ({ name, type })),
        params,
      ),
      "its parameters are not the program's",
    );
    const fixed = FIXED_PARAMS.map((name) => ({ name, type: "i32" as const }));
    const slots = [...fixed, ...params].map((p, slot) => ({ ...p, slot }));
    this.#expect(
      isSame(
        batch.kernel.params.map(({ name, type, slot }) => ({ name, type, slot })),
        slots,
      ),
      "the parameters of its kernel are not the program's",
    );
    for (const { name, access } of batch.kernel.buffers) {
      const isTable = Object.values<string>(TABLES).includes(name);
      const given = trace.buffers.find((b) => b.name === name)?.access;
      this.#expect(
        isTable ? access !== "read_write" : given === access,
        `its kernel binds ${name}, which the program does not`,
      );
    }
    const names = batch.kernel.buffers.map((b) => b.name);
    this.#expect(new Set(names).size === names.length, "a buffer of its kernel is there twice");

    const tables = this.#read(tablesKind, this.#plain(this.#file("tables.json"), "tables.json"), "tables");
    for (const type of ["f32", "i32"] as const) {
      const isBound = names.includes(TABLES[type]);
      this.#expect(isBound === (tables[type] !== undefined), `its ${type} tables are not those of its kernel`);
      const held = Array.from<number>(tables[type] ?? []);
      const values = trace.tables
        .filter((t) => t.type === type)
        .flatMap((t) => Array.from(t.values, type === "f32" ? Math.fround : Number));
      while (values.length % 4 !== 0) values.push(0);
      this.#expect(held.length === 0 || isSame(held, values), `its ${type} tables are not those of its program`);
    }
    const { buffers: _, params: __, ...given } = batch.kernel;
    const form = { ...emissionFor(undefined), ...given, unroll: env.unroll };
    const recorded: WgslKernel = {
      buffers: batch.kernel.buffers,
      params: batch.kernel.params,
      form,
      code: device.precision === "gpu" ? this.#text("step.wgsl") : "",
      tables,
    };
    this.#expect(
      kernelHashes(recorded, program, device.precision).shader === shader,
      "its kernel is not that of the manifest",
    );
    return recorded;
  }

  /** The pieces of the kernel, where it ran in pieces: cut at the stages that were recorded, which the program must have. */
  #cut(trace: Trace, { form }: WgslKernel): CutKernel | undefined {
    const { batch, device } = this.#about;
    if (!batch.cut) return undefined;
    const { stages } = batch.cut;
    this.#expect(device.precision === "gpu", "its kernel is cut, and ran on no adapter");
    this.#expect(new Set(stages).size === stages.length, "its kernel is cut twice at one stage");
    for (const stage of stages)
      this.#expect(canCutAt(trace, stage), `its kernel is cut at ${show(stage)}, where its program cannot be`);
    let cut: CutKernel | undefined;
    try {
      cut = cutKernel("step", titleOf(this.#about), trace, stages, form, DEFAULT_TILE_WIDTH);
    } catch (error) {
      // values that depend on each other more deeply than this process can follow
      if (!(error instanceof RangeError)) throw error;
    }
    this.#expect(cut !== undefined, "its program cannot be cut where its kernel was");
    return cut;
  }

  /** Every array as long as the manifest says, segment after segment. */
  #checkRecording({ worlds, segments, end }: Recording, bytes: number, cut: CutKernel | undefined): void {
    const { about } = { about: this.#about };
    const { batch, device, env, steps } = about;
    this.#expect(
      isSame(
        worlds,
        about.worlds.map(({ world }) => world),
      ),
      "its records are not of its worlds",
    );
    const layouts = new Map(
      batch.arenas.map((a) => {
        const request = { layout: "tiles", scope: "shard", copies: 1, window: null, ...a } as const;
        return [a.name, layoutArena(request, DEFAULT_TILE_WIDTH)];
      }),
    );
    const padded = DEFAULT_TILE_WIDTH * Math.ceil(worlds.length / DEFAULT_TILE_WIDTH);
    const cells = 4 * (cut?.cells.fields[0].perWorld ?? 0) * padded;
    const arenaBytes = [...layouts.values()].reduce((sum, l) => sum + l.sharedBytes + l.bytesPerWorld * padded, cells);
    const most = SMALL_ARENAS + ARENA_RATIO * bytes;
    this.#expect(
      arenaBytes <= most,
      `its worlds take ${formatBytes(arenaBytes)}, and its records are of ${formatBytes(bytes)}`,
    );

    const isWords = (value: ArrayLike<number>, length: number): boolean =>
      value instanceof (device.precision === "gpu" ? Uint32Array : Float64Array) && value.length === length;
    const states = Object.keys(segments[0].states);
    this.#expect(states.includes("state"), "it records no state");
    const action = layouts.get("action");
    this.#expect(action !== undefined && wordsOf(action) >= env.actionSize, "it has no arena for its actions");
    let at = steps.first;
    for (const segment of segments) {
      this.#expect(segment.start === at, `a segment begins after step ${segment.start}, and not after ${at}`);
      at += segment.steps;
      this.#expect(
        isWords(segment.actions, segment.steps * worlds.length * wordsOf(action!)),
        `the actions from step ${segment.start} on are not ${segment.steps} of each world`,
      );
      this.#checkStates(segment.states, states, layouts, worlds.length, isWords);
      this.#checkParams(segment.params);
    }
    this.#expect(at === steps.last, `its segments end after step ${at}, and not after ${steps.last}`);
    this.#expect(states.every((name) => name in end) && "result" in end, "it does not say how it ended");
    this.#checkStates(end, Object.keys(end), layouts, worlds.length, isWords);
  }

  #checkStates(
    states: Readonly<Record<string, ArrayLike<number>>>,
    names: readonly string[],
    layouts: ReadonlyMap<string, ReturnType<typeof layoutArena>>,
    worlds: number,
    isWords: (value: ArrayLike<number>, length: number) => boolean,
  ): void {
    this.#expect(isSame(Object.keys(states), names), `its segments hold ${names.join(", ")}, and one other states`);
    for (const [name, words] of Object.entries(states)) {
      const layout = layouts.get(name);
      this.#expect(layout !== undefined && layout.sharedBytes === 0, `it records ${name}, which is no arena of worlds`);
      this.#expect(
        isWords(words, worlds * packedWords(layout!)),
        `${name} is not ${packedWords(layout!)} words for each world`,
      );
    }
  }

  /** Values of parameters that are some: `nstep` is how often a kernel steps. */
  #checkParams(params: Readonly<Record<string, number>>): void {
    const known = new Map(this.#about.batch.params.map((p) => [p.name, p.type]));
    for (const [name, value] of Object.entries(params)) {
      const type = known.get(name);
      this.#expect(type !== undefined, `it sets ${name}, which is no parameter`);
      const low = type === "i32" ? -(2 ** 31) : 0;
      const isFit = type === "f32" || (Number.isInteger(value) && value >= low && value < low + 2 ** 32);
      this.#expect(isFit, `${name} is ${value}, no ${type}`);
    }
    const { frameSkip } = this.#about.env;
    const { nstep = frameSkip } = params;
    this.#expect(nstep >= 0 && nstep <= frameSkip, `nstep is ${nstep}; a control step is at most ${frameSkip}`);
  }

  /** The model is the one whose states are recorded. */
  #checkModel(): void {
    const { about, model } = this.bundle;
    this.#expect(about.model.name === model.name, "its model is not that of the manifest");
    const [state] = about.batch.arenas.filter((a) => a.name === "state");
    const sizes: Readonly<Record<string, number>> = {
      qpos: model.nq,
      qvel: model.nv,
      act: model.na,
      qacc_warmstart: model.nv,
      history: model.nhistory,
    };
    for (const { name, perWorld } of state.fields) {
      this.#expect(
        !Object.hasOwn(sizes, name) || sizes[name] === perWorld,
        `a state has ${perWorld} numbers of ${name}, its model ${sizes[name]}`,
      );
    }
    for (const name of ["qpos", "qvel", "episode"])
      this.#expect(sizes[name] === 0 || state.fields.some((f) => f.name === name), `a state of it has no ${name}`);
    const { own = [] } = about.env;
    for (const { field, index } of own) {
      const held = (model as unknown as Record<string, unknown>)[field];
      const others: Record<string, number> = {
        meaninertia: 1,
        gravity: 3,
        speed_limit: model.speedLimits?.length ?? 0,
      };
      const length = Object.hasOwn(others, field) ? others[field] : held instanceof Float64Array ? held.length : 0;
      this.#expect(index < length, `its model has no ${field}[${index}]`);
    }
    const perWorld = about.batch.arenas.flatMap((a) => a.fields).find((f) => f.name === "per_world")?.perWorld ?? 0;
    this.#expect(own.length <= perWorld, `each world has ${perWorld} numbers of its own, not ${own.length}`);
  }
}

/** Words of a result that the host had read. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const titleOf = ({ batch }: BundleAbout): string => `${batch.name}: step`;

/** The kernel that this corral emits of a bundle's program. */
export function emittedKernel({ about, kernel, trace }: Bundle): WgslKernel {
  return toWgsl(trace, { ...kernel.form, title: titleOf(about) });
}
