// the tool that scans models of other projects says how it is called
import { expect, test } from "vitest";
import { asked } from "../../../tools/zoo/asked.ts";

test("help is an option, and a misspelt one is refused with the usage", () => {
  expect(asked(["--help"]).values.help).toBe(true);
  expect(asked(["folder", "--bounds"])).toMatchObject({ positionals: ["folder"], values: { bounds: true } });
  expect(asked(["--bound"]).refused).toMatch(/'--bound'[^]*Usage: npx tsx tools\/zoo/);
});
