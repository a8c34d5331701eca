// promises of a user's code that nothing resolves, in a process of their own, and those that are slow
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { answered } from "../../../src/core/answered.ts";
import { onBuild } from "../../support/built.ts";
import { ROOT } from "../../support/imports.ts";

const run = (text: string) =>
  promisify(execFile)(process.execPath, ["--input-type=module", "--eval", onBuild(text)], { cwd: ROOT });

const MAKES = `const { Box, Discrete, Ppo } = await import("./src/index.ts");
  const space = new Box({ low: 0, high: 1, shape: [1] });
  const own = { numEnvs: 2, singleObservationSpace: space, singleActionSpace: new Discrete(2),
    reset: async () => ({ observations: [0, 0] }), step: () => new Promise(() => {}) };
  const ppo = await Ppo.create(own, { rolloutSteps: 4, minibatches: 1, hidden: [4] });`;

test("a process that would end while it waits says for what", async () => {
  await expect(run(`${MAKES} await ppo.iterate();`)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      "[bad-env] JsVec, step: it returned a promise that nothing in this process is left to resolve. Resolve or reject it.",
    ) as string,
  });
  await expect(run(`${MAKES} await ppo.imitate(() => new Promise(() => {}));`)).rejects.toMatchObject({
    stderr: expect.stringMatching(/\[bad-(env|teacher)\] .* it returned a promise that nothing/) as string,
  });
});

test("what is slow is told of once, and waited for", async () => {
  vi.useFakeTimers();
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const listeners = process.listenerCount("beforeExit");
  let resolve: (value: number) => void = () => {};
  const waits = answered(new Promise<number>((done) => (resolve = done)), "Game, step", (text) => new Error(text));
  await vi.advanceTimersByTimeAsync(200_000);
  expect(warned.mock.calls).toEqual([
    [
      "Game, step: the promise that it returned is not resolved after 60 s. It is waited for.",
      expect.objectContaining({ code: "corral-slow-answer" }),
    ],
  ]);
  resolve(3);
  expect(await waits).toBe(3);
  expect(process.listenerCount("beforeExit")).toBe(listeners);
  expect(await answered(4, "Game, step", (text) => new Error(text))).toBe(4);
  vi.useRealTimers();
  warned.mockRestore();
});

test("as many may be waited for at once as there are worlds of one's own: one listener is for all", async () => {
  const listeners = process.listenerCount("beforeExit");
  const resolvers: (() => void)[] = [];
  const waits = Array.from({ length: 20 }, (_, i) => {
    const later = new Promise<number>((done) => resolvers.push(() => done(i)));
    return answered(later, "Game, step", (text) => new Error(text));
  });
  expect(process.listenerCount("beforeExit")).toBe(listeners + 1);
  for (const resolve of resolvers) resolve();
  expect(await Promise.all(waits)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(process.listenerCount("beforeExit")).toBe(listeners);
});
