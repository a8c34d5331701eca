// without a runtime for ONNX nothing is played before that is said
// alone in its process, since the runtimes are replaced: @vitest-environment-options {"alone":"no-onnxruntime"}
import { expect, test, vi } from "vitest";
import "../../../envs/index.ts";
import { sweep } from "../../../src/runs/sweep.ts";
import { evaluateUnder } from "../../../src/runs/under.ts";

vi.mock("onnxruntime-node", () => Promise.reject(new Error("not installed")));
vi.mock("onnxruntime-web", () => Promise.reject(new Error("not installed")));

test("refuses before policies are read and worlds made", async () => {
  const encode = () => new Uint8Array();
  const missing = { code: "no-onnxruntime", message: expect.stringContaining("npm install onnxruntime-web") as string };
  await expect(evaluateUnder("no-run", { under: ["corral", "onnx"], encode })).rejects.toMatchObject(missing);
  const axes = [{ name: "gravity", values: [1, 2] }];
  await expect(sweep("no-run", { axes, under: ["onnx"], encode })).rejects.toMatchObject(missing);
});
