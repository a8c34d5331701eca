// the tool that scans models of other projects says how it is called
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { asked } from "../../../tools/zoo/asked.ts";
import { filesOf } from "../../../tools/zoo/files.ts";

const laid = mkdtempSync(join(tmpdir(), "corral-zoo-"));
mkdirSync(join(laid, "owner+name"));
afterAll(() => rmSync(laid, { recursive: true }));

test("help is an option, and a misspelt one is refused with the usage", () => {
  expect(asked(["--help"]).values.help).toBe(true);
  expect(asked([laid, "--bounds"])).toMatchObject({ folder: laid, values: { bounds: true } });
  expect(asked(["--bound"]).refused).toMatch(/'--bound'[^]*Usage: npx tsx tools\/zoo/);
});

test("a folder that is absent, a file and a second folder are refused with the usage", () => {
  expect(asked(["nothing/here"]).refused).toMatch(/^FOLDER is 'nothing\/here', which is no folder[^]*Usage:/);
  expect(asked(["envs"]).refused).toMatch(/^FOLDER is 'envs', which has no folder OWNER\+NAME/);
  expect(asked(["package.json"]).refused).toMatch(/^FOLDER is 'package.json'/);
  expect(asked([laid, "src"]).refused).toMatch(/^'src' is a second folder/);
  expect(asked(["--judged", "robot.xml"]).refused).toBeUndefined();
});

test("a link whose target a repository lacks is no model", () => {
  const folder = join(laid, "owner+name");
  writeFileSync(join(folder, "robot.xml"), "<mujoco></mujoco>");
  writeFileSync(join(folder, "part.xml"), "<mujocoinclude/>");
  symlinkSync("absent.xml", join(folder, "scene.xml"));
  expect(filesOf(laid, [""])).toEqual([join(folder, "robot.xml")]);
});
