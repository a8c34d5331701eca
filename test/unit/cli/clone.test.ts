// in a clone, bin/corral.js runs the sources
import { expect, test } from "vitest";
import { SHIPPED } from "../../support/shipped.ts";
import { corralFromSources } from "../../support/cli.ts";

test("corral list of a clone names the environments", async () => {
  const { code, stdout } = await corralFromSources(["list", "--json"]);
  expect(code).toBe(0);
  const { environments } = JSON.parse(stdout) as { environments: { id: string }[] };
  expect(environments.map(({ id }) => id)).toEqual(SHIPPED);
});

test("wrong usage ends with code 2, on stderr", async () => {
  const { code, stdout, stderr } = await corralFromSources(["train", "CartPole", "--env", "8"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("nearest: --envs");
});
