// the page about a run that went NaN: its example, and every output that it shows
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtProgram } from "../../support/built.ts";
import { openCli } from "../../support/cli-process.ts";
import { ROOT } from "../../support/imports.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

const page = readFileSync(join(ROOT, "docs/my-run-went-nan.md"), "utf8");
const block = (language: string, has: string): string => {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)];
  const found = blocks.find(([, kind, text]) => kind === language && text.includes(has));
  if (!found) throw new Error(`the page has no block of ${language} with "${has}"`);
  return found[2];
};
const shown = [...page.matchAll(/^```text\n\$ corral ([^\n]*)\n([\s\S]*?)^```/gm)].map(([, command, text]) => ({
  command,
  text,
}));

let folder: string;
let cli: ReturnType<typeof openCli>;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-nan-")));
  cli = openCli(folder);
});
afterAll(() => {
  cli.close();
  rmSync(folder, { recursive: true });
});

test("the run warns as the page shows", async () => {
  writeFileSync(join(folder, "arm.xml"), block("xml", 'model="arm"'));
  writeFileSync(join(folder, "run.mts"), block("ts", 'id: "Arm"'));
  const run = [await builtProgram(join(folder, "run.mts"))];
  // the folder of bundles is the page's, not the tests' own
  const env = { ...process.env, CORRAL_BUNDLES: "" };
  const how = { cwd: folder, env, encoding: "utf8", timeout: PATIENCE_MS } as const;
  const { stderr, status } = spawnSync(process.execPath, run, how);
  // the page breaks the line, and leaves out the folder
  expect(stderr.replaceAll(`${folder}/`, "")).toContain(block("text", "[corral-crash]").trimEnd().replace("\n", " "));
  expect(status).toBe(0);
});

// after the run, whose bundle they read
test("every command prints what the page shows", async () => {
  const commands = shown.map(({ command }) => command.split(" ")[0]);
  expect(commands).toEqual(["replay", "replay", "replay", "replay", "check-model"]);
  for (const { command, text } of shown) {
    const { stdout } = await cli.run(...command.split(" "));
    // what all replays say first is shown once
    expect(stdout.trimEnd().endsWith(text.trimEnd()), `corral ${command} printed\n${stdout}`).toBe(true);
  }
});
