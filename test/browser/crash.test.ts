// a crash bundle in a page: the timeline, MuJoCo's ghost, what broke first at its body, numbers of what is pointed at
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { viewTarget } from "../../src/cli/view-target.ts";
import { defineTask, makeVec } from "../../src/env/index.ts";
import { decodeFrame } from "../../src/view/messages.ts";
import { routesOf } from "../../src/view/routes.ts";
import { pageFiles } from "../../src/view/page.ts";
import { ViewServer } from "../../src/view/server.ts";
import { Session, type Subject } from "../../src/view/session.ts";
import { eq, select } from "../../src/trace/scalar.ts";
import { openBrowser, type Browser } from "../support/browser.ts";
import { count, fromKept, many, openPage, seen, settled, stepOf, still } from "../support/browser-page.ts";
import { corralInside as corral } from "../support/cli-inside.ts";
import { pictureBounds } from "../support/tolerances.ts";

const root = mkdtempSync(join(tmpdir(), "corral-view-crash-"));
const CODE = "<img src=x onerror=document.title='ran'>";
const EVIL = CODE.replaceAll("<", "&lt;");
/** The step that breaks, from 0, in world 1 alone. */
const BLOW = 9;
const task = defineTask({
  id: CODE,
  model: `<mujoco model="${EVIL}"><option timestep="0.01"/><worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body name="${EVIL}" pos="0 0 .5"><joint name="slide ${EVIL}" type="slide" axis="1 0 0"/>
      <geom type="box" size=".3 .3 .3" mass="1" rgba="0 1 0 1"/>
      <body name="arm" pos="0 0 .4"><joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .5" size=".08" rgba="0 1 0 1"/></body>
    </body></worldbody><actuator><motor joint="slide ${EVIL}" ctrlrange="-1 1"/></actuator></mujoco>`,
  frameSkip: 2,
  maxEpisodeSteps: 100,
  observe: (s) => ({ qpos: s.d.qpos.all() }),
  reward: (s) => ({ [CODE]: s.d.qvel.at(0) }),
  terminated: () => ({}),
  reset: () => ({ qpos: [0, 0.3], qvel: [0, 0] }),
  events: {
    blow: (s) => ({ qvel: [select(eq(s.length, BLOW), select(eq(s.world, 1), 1e12, 0, "f32"), 0, "f32"), 0] }),
  },
});

let browser: Browser | undefined;
let bundle: string;
let subject: Subject;
let session: Session;
let server: ViewServer;
beforeAll(async () => {
  browser = await openBrowser();
  await using env = await makeVec(task, { numEnvs: 2, seed: 3, device: "cpu", recorder: { directory: root } });
  await env.reset();
  for (let t = 0; t < BLOW + 2; t++) await env.step(new Float32Array(2).fill(0.5));
  [bundle] = env.health().bundles;
  subject = await viewTarget(bundle, {});
  session = new Session(subject, true);
  server = await ViewServer.listen(routesOf(session, await pageFiles()));
});
afterAll(async () => {
  await browser?.close();
  await server.close();
  await session[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

describe("corral view of a crash", () => {
  test("shows the recorded states, MuJoCo's of the same steps, and the joint that broke", async () => {
    const { facts } = subject;
    expect(facts).toMatchObject({ kind: "crash", ghosts: [1], places: [0, 0], worlds: 2 });
    expect(facts.bad).toMatchObject({ world: 0, body: 1, joint: 0, step: BLOW });
    expect(facts.note).toContain(CODE);
    expect(facts.timeline!.marks.map(({ at }) => at)).toContain(BLOW);
    await subject.act({ do: "seek", value: 5 });
    const [ours, mujoco] = subject.values!;
    expect(ours.qpos).toHaveLength(2);
    // both began at 0, 0.3 and were pushed alike: one in float32, one in float64
    expect(ours.qpos[0]).not.toBe(0);
    ours.qpos.forEach((x, i) => {
      expect(x).toBeCloseTo(mujoco.qpos[i], 5);
      expect(x).not.toBe(mujoco.qpos[i]);
    });
    await subject.act({ do: "seek", value: BLOW });
  });

  test("in the page, as text: what names hold is never code", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    const { page, wrong } = await openPage(browser, server.url, { width: 420, height: 700 });
    const canvas = page.locator("#canvas");
    expect(await stepOf(page)).toBe(BLOW);
    // the body that broke is red, and says why
    await seen(canvas, 0, many);
    expect(await page.locator("#labels .bad").textContent()).toContain(`slide ${CODE}`);
    expect(await page.locator("#note").textContent()).toContain(CODE);
    expect(await page.locator("#timeline-now").textContent()).toContain("breaks in this step");
    // words are drawn in whatever font there is
    await page.evaluate("document.querySelector('#labels').hidden = true");
    expect(fromKept("crash", await still(canvas))).toBeLessThan(pictureBounds.page.value);

    // along the timeline: before it broke nothing is red
    const line = (await page.locator("#timeline-lines").boundingBox())!;
    const at = (step: number) => line.x + (line.width * step) / subject.facts.steps;
    await page.mouse.move(at(4), line.y + 10);
    await settled(page, "document.querySelector('#timeline-now').textContent.startsWith('step 4')");
    expect(await page.locator("#timeline-now").textContent()).toContain("qpos from MuJoCo");
    await page.mouse.down();
    await page.mouse.up();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 4,')");
    await seen(canvas, 0, (pixels) => pixels === 0);
    expect(await page.evaluate("document.querySelectorAll('#labels .bad').length")).toBe(0);

    // beside it the ghost is seen, and without it not
    await page.locator("#ghost").selectOption("none");
    const alone = count(await seen(canvas, 1, many), 1);
    await page.locator("#ghost").selectOption("beside");
    await page.locator("#camera").selectOption("free");
    await seen(canvas, 2, many);
    await page.locator("#ghost").selectOption("on");
    await page.locator("#camera").selectOption("tracking");
    expect(alone).toBeGreaterThan(50);

    // numbers of what is pointed at, ours and MuJoCo's
    const box = (await canvas.boundingBox())!;
    for (let y = 0.2; y < 0.9 && !(await page.evaluate<boolean>("!document.querySelector('#hover').hidden")); y += 0.05)
      await page.mouse.move(box.x + box.width / 2, box.y + y * box.height);
    const told = await page.locator("#hover").textContent();
    expect(told).toContain("qpos");
    expect(told).toContain("MuJoCo");
    expect(await page.evaluate("document.title")).toBe(CODE);
    expect(await page.evaluate("document.querySelectorAll('img').length")).toBe(0);
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await page.evaluate("document.documentElement.scrollWidth <= 360")).toBe(true);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("as one file, which says it too", async (context) => {
    const out = join(root, "crash.html");
    const made = await corral(["render", bundle, "--out", out]);
    expect(made.code, made.stderr).toBe(0);
    expect(readFileSync(out, "utf8")).not.toContain(CODE);
    if (!browser) return context.skip("no browser for this system");
    const { page, wrong } = await openPage(browser, pathToFileURL(out).href);
    expect(await page.locator("#title").textContent()).toBe(CODE);
    for (const step of [2, BLOW, 4]) {
      await page.locator("#seek").fill(String(step));
      await settled(page, `document.querySelector('#now').textContent.startsWith('step ${step},')`);
      await settled(page, `document.querySelectorAll('#labels .bad').length === ${step === BLOW ? 1 : 0}`);
    }
    expect(await page.locator("#now").textContent()).toContain("before control step 5,");
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("as pictures, without a browser: red from the step that broke it on", async () => {
    const drawn = async (file: string, ...more: string[]) => {
      const out = join(root, file);
      const made = await corral(["render", bundle, "--out", out, "--size", "96x72", "--json", ...more]);
      expect(made.code, made.stderr).toBe(0);
      return { out, ...(JSON.parse(made.stdout) as { pictures: number }) };
    };
    const red = async (...more: string[]) => {
      const { out, pictures } = await drawn("crash.png", ...more);
      expect(pictures).toBe(1);
      return count(readFileSync(out), 0);
    };
    expect(await red()).toBeGreaterThan(20);
    expect(await red("--steps", "4")).toBe(0);
    expect((await drawn("crash.gif", "--every", "4")).pictures).toBe(Math.floor(subject.facts.steps / 4) + 1);
    for (const [option, value] of Object.entries({ "--worlds": "2", "--actions": "none", "--camera": "nose" })) {
      const refused = await corral(["render", bundle, "--out", join(root, "no.png"), option, value]);
      expect(refused.code, option).toBe(2);
      expect(refused.stderr).toContain(option);
    }
  });

  test("frames carry numbers that are none, and refuse what is no bundle of worlds", async () => {
    await session.command({ do: "seek", value: subject.facts.steps });
    const bytes = await session.frame(0);
    const { facts } = decodeFrame(Uint8Array.from(bytes!).buffer);
    expect(facts.plots["max |qvel|"]).toBe(subject.plots["max |qvel|"]);
    await expect(viewTarget(bundle, { world: "77" })).rejects.toMatchObject({ code: "unknown-world" });
    await session.command({ do: "seek", value: BLOW });
  });
});
