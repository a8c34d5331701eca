// what commands say of themselves
import { expect, test } from "vitest";
import { corralInside } from "../../support/cli-inside.ts";

test("help fits terminals of 100 columns", async () => {
  const { stdout } = await corralInside(["--help"]);
  const commands = [...stdout.matchAll(/^ {2}([a-z-]+) {2}/gm)].map(([, name]) => name);
  expect(commands).toContain("new-task");
  for (const args of [[], ...commands.map((name) => [name])]) {
    const { code, stdout: help } = await corralInside([...args, "--help"]);
    expect([args, code, help.split("\n").filter((line) => line.length > 100)]).toEqual([args, 0, []]);
    expect(help).toContain("Exit codes: ");
  }
});
