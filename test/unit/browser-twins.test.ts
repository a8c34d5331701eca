// every NAME.browser.ts is what the library takes of NAME.ts, in its types too
import { expect, test } from "vitest";
import { repositoryFiles } from "../support/imports.ts";
import * as enums from "../../src/model/enums.ts";
import { atStart, buildBrowser, numbered } from "../../tools/browser-bundle.mjs";

/** What a module for browsers has that could not stand for what Node's has. */
type Wrong<Browser, Node> = {
  [K in keyof Browser]: K extends keyof Node ? (Browser[K] extends Node[K] ? never : K) : K;
}[keyof Browser];

/** The names of them; no list of them compiles but the empty one. */
type Twins = [
  Wrong<typeof import("../../src/batch/kernel/tuning.browser.ts"), typeof import("../../src/batch/kernel/tuning.ts")>,
  Wrong<typeof import("../../src/batch/wasm/compile.browser.ts"), typeof import("../../src/batch/wasm/compile.ts")>,
  Wrong<
    typeof import("../../src/batch/wasm/kernel-cache.browser.ts"),
    typeof import("../../src/batch/wasm/kernel-cache.ts")
  >,
  Wrong<typeof import("../../src/core/host.browser.ts"), typeof import("../../src/core/host.ts")>,
  Wrong<typeof import("../../src/core/packing.browser.ts"), typeof import("../../src/core/packing.ts")>,
  Wrong<typeof import("../../src/core/path.browser.ts").posix, typeof import("../../src/core/path.ts").posix>,
  Wrong<typeof import("../../src/core/shader-text.browser.ts"), typeof import("../../src/core/shader-text.ts")>,
  Wrong<typeof import("../../src/core/thread.browser.ts"), typeof import("../../src/core/thread.ts")>,
  Wrong<typeof import("../../src/core/version.browser.ts"), typeof import("../../src/core/version.ts")>,
  Wrong<typeof import("../../src/gpu/adapter.browser.ts"), typeof import("../../src/gpu/adapter.ts")>,
  Wrong<typeof import("../../src/gpu/memory-info.browser.ts"), typeof import("../../src/gpu/memory-info.ts")>,
  Wrong<typeof import("../../src/gpu/waiter.browser.ts"), typeof import("../../src/gpu/waiter.ts")>,
  Wrong<typeof import("../../src/model/compile.browser.ts"), typeof import("../../src/model/compile.ts")>,
  Wrong<typeof import("../../src/model/mujoco-module.browser.ts"), typeof import("../../src/model/mujoco-module.ts")>,
  Wrong<typeof import("../../src/model/read-file.browser.ts"), typeof import("../../src/model/read-file.ts")>,
  Wrong<
    typeof import("../../src/physics/collision/geom-clusters.browser.ts"),
    typeof import("../../src/physics/collision/geom-clusters.ts")
  >,
  Wrong<typeof import("../../src/record/sealed.browser.ts"), typeof import("../../src/record/sealed.ts")>,
  Wrong<typeof import("../../src/trace/in-memory.browser.ts"), typeof import("../../src/trace/in-memory.ts")>,
  Wrong<typeof import("../../src/record/bundle-folder.browser.ts"), typeof import("../../src/record/bundle-folder.ts")>,
  Wrong<
    typeof import("../../src/rl/networks/linear-text.browser.ts"),
    typeof import("../../src/rl/networks/linear-text.ts")
  >,
  Wrong<
    typeof import("../../src/rl/replay/file-rows.browser.ts").FileRows,
    Pick<typeof import("../../src/rl/replay/file-rows.ts").FileRows, "open">
  >,
];
const TWINS = 21;

/** Of our own code before MuJoCo's. */
const MOST_BYTES = 1e6;

test("modules for browsers have the types of those that they replace", () => {
  // does not compile if any is wrong
  const wrong: [Twins[number]] extends [never] ? "none" : "some" = "none";
  expect(wrong).toBe("none");
  const twins = repositoryFiles("src").filter((file) => file.endsWith(".browser.ts"));
  expect(twins.length).toBe(TWINS satisfies Twins["length"]);
});

test("nothing in the bundle asks for Node, but MuJoCo's module where it runs in Node", async () => {
  const { files, metafile } = await buildBrowser({ isWhole: false, metafile: true });
  const outside = new Set(
    Object.values(metafile!.outputs).flatMap(({ imports }) =>
      imports.filter(({ external }) => external).map(({ path }) => path),
    ),
  );
  expect([...outside]).toEqual(["@mujoco/mujoco"]);
  // what is loaded before MuJoCo; models of environments and texts of kernels come when they are needed
  const first = atStart(metafile!).reduce((sum, name) => sum + files[name].length, 0);
  expect(first).toBeLessThan(MOST_BYTES);
  // nor for files beside it that are not there
  const places = Object.values(files).flatMap(
    (text) => text.match(/new URL\(["`][^"`]*["`],\s*import\.meta\.url\)/g) ?? [],
  );
  expect(places.map((place) => /["`](.*)["`]/.exec(place)![1])).toEqual(["./compile-worker.js"]);
});

test("numbers stand in pages for the members of MuJoCo's enums", () => {
  const members = Object.entries(enums).flatMap(([name, values]) =>
    Object.entries(values).map(([member, value]) => [`${name}.${member}`, String(value)]),
  );
  expect(members.length).toBeGreaterThan(100);
  expect(members.map(([name]) => numbered(name))).toEqual(members.map(([, value]) => value));
  expect(numbered("mjtNone.FREE mjtJoint.NONE")).toBe("mjtNone.FREE mjtJoint.NONE");
});
