import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { stagesOf } from "../../../src/batch/kernel/inspect.ts";
import { planKernels } from "../../../src/batch/simulation-spec.ts";
import { loadModel } from "../../../src/model/model.ts";
import { runStage, STAGE_NAMES } from "../../../src/physics/stages.ts";
import { modelView, worldData } from "../../../src/physics/view.ts";
import { trace } from "../../../src/trace/graph.ts";
import { repositoryFiles, ROOT } from "../../support/imports.ts";
import { stagesDoc } from "../../../tools/stages-doc.ts";

const MODEL = `<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .2"><freejoint/><geom size=".1"/></body>
  </worldbody><sensor><subtreecom body="world"/></sensor></mujoco>`;

test("kernels run their stages in the order of the table", async () => {
  const model = await loadModel(MODEL);
  const planned = planKernels(model, { numEnvs: 1, outputs: ["sensordata", "cfrc_ext"], unroll: true });
  const marks = stagesOf(planned.kernels.get("step")!.code).map(({ name }) => name);
  const stages = STAGE_NAMES.filter((name) => marks.includes(name));
  expect(stages.length).toBeGreaterThan(12);
  // sensors and forces on bodies come after an evaluation, in the order in which MuJoCo's data is read
  const pipeline = stages.filter((name) => name !== "sensor" && name !== "rne_post");
  expect(marks.filter((name) => (pipeline as string[]).includes(name))).toEqual(pipeline);
});

test("a stage, its file and its function bear one name", () => {
  const files = repositoryFiles("src/physics");
  const lost = STAGE_NAMES.filter((name) => {
    // what solves is called as the papers do
    const called = name === "solver" ? "solve" : name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    const file = files.find((path) => basename(path) === `${name}.ts`);
    return !file || !readFileSync(join(ROOT, file), "utf8").match(`export (function|const) ${called}\\b`);
  });
  expect(lost).toEqual([]);
});

test("a stage that touches what it does not declare is refused by name", async () => {
  const model = await loadModel(MODEL);
  const within = (touch: (d: ReturnType<typeof worldData>) => void) => () =>
    trace(
      () => {
        const m = modelView(model);
        expect(m.nv).toBe(6);
        const d = worldData(model);
        runStage("com_vel", () => touch(d));
      },
      { unroll: true },
    );
  expect(within((d) => d.qpos.at(0))).toThrowError("[undeclared-access] stage com_vel reads qpos");
  expect(within((d) => d.cdof.set(0, 1))).toThrowError("[undeclared-access] stage com_vel writes cdof");
  expect(within((d) => d.cvel.set(0, d.qvel.at(0)))).not.toThrow();
});

test("docs/stages.md is the table", () => {
  const page = readFileSync(new URL("../../../docs/stages.md", import.meta.url), "utf8");
  expect(page, "run npx tsx tools/stages-doc.ts").toBe(stagesDoc());
});
