// what MuJoCo warns of where a model is attached: kept with the model, but for sizes of its own memory
import { expect, test, vi } from "vitest";
import { checkModel } from "../../../src/crash/check-model.ts";
import { loadModel } from "../../../src/model/model.ts";

const scene = (option: string) =>
  loadModel(
    `<mujoco><compiler conflict="merge"/><asset><model name="r" file="robot.xml"/></asset>
  <worldbody><frame><attach model="r" prefix=""/></frame></worldbody></mujoco>`,
    {
      assets: {
        "robot.xml": new TextEncoder().encode(
          `<mujoco><size njmax="500" nconmax="100"/>${option}<worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>`,
        ),
      },
    },
  );

test.each([
  ["", []],
  ['<option gravity="0 0 -1"/>', [expect.stringMatching(/'r'.*\ngravity: parent has 0 0 -9.81 .*child has 0 0 -1/)]],
])("an attached model's sizes are no warning, options that differ are: %s", async (option, warnings) => {
  const warn = vi.spyOn(console, "warn");
  try {
    const model = await scene(option);
    expect(model.warnings).toEqual(warnings);
    const notes = (await checkModel(model)).findings.filter(({ name }) => name === "compiler-warning");
    expect(notes.map(({ grade }) => grade)).toEqual(warnings.map(() => "note"));
    expect(warn).not.toHaveBeenCalled();
  } finally {
    warn.mockRestore();
  }
});
