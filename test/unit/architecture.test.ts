// the map of the house names files that exist
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryFiles, ROOT } from "../support/imports.ts";

test.each(["docs/architecture.md", "CONTRIBUTING.md", "shaders/README.md"])("every path in %s exists", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const paths = [...text.matchAll(/\b(?:src|test|shaders|envs|tools|bench|docs)\/[\w./-]*\w/g)].map(([path]) => path);
  const missing = paths.filter((path) => !/NAME|PAIR/.test(path) && !existsSync(join(ROOT, path)));
  expect(paths.length).toBeGreaterThan(4);
  expect(missing).toEqual([]);
});

test("every folder of src is in the map", () => {
  const map = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const listed = [...map.matchAll(/`(src\/\w+)`/g)].map(([, folder]) => folder);
  const folders = new Set(repositoryFiles("src").flatMap((file) => /^src\/(\w+)\//.exec(file)?.[1] ?? []));
  expect(folders.size).toBeGreaterThan(10);
  const missing = [...folders].filter((name) => !listed.includes(`src/${name}`));
  expect(missing).toEqual([]);
});

test("every folder inside a folder is named in the row of that one", () => {
  const rows = readFileSync(join(ROOT, "docs/architecture.md"), "utf8").split("\n");
  const inner = new Set(repositoryFiles("src").flatMap((file) => /^src(?:\/[\w-]+){2,}(?=\/)/.exec(file)?.[0] ?? []));
  const missing = [...inner].filter((path) => {
    const [, folder, ...inside] = path.split("/");
    const row = rows.find((line) => line.startsWith(`| \`src/${folder}\``));
    return !inside.every((name) => row?.includes(`\`${name}\``));
  });
  expect(inner.size).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

test("the folders of test/unit are those of src", () => {
  const folders = new Set(repositoryFiles("test/unit").flatMap((file) => /^test\/unit\/(\w+)\//.exec(file)?.[1] ?? []));
  expect([...folders].filter((name) => !existsSync(join(ROOT, "src", name)))).toEqual([]);
});
