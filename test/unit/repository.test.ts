import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { STAGE_NAMES } from "../../src/physics/stages.ts";
import { repositoryFiles, ROOT } from "../support/imports.ts";

const TEXT = /\.(ts|js|mjs|cjs|json|md|wgsl|wesl|xml|py|sh|yml|yaml|txt|csv)$|^[^.]*$|^\.[^/]*$|\/run$/;

/** Every text file, as git has it. */
const files = repositoryFiles(".")
  .filter((file) => TEXT.test(file))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));

test("no file names a folder of the machine it was written on", () => {
  // put together here, or this file would be one of them
  const folders = ["home", "tmp", "Users"].map((name) => `/${name}/`);
  const needles = [...folders, `${ROOT}/`, ...(homedir().length > 1 ? [`${homedir()}/`] : [])];
  const absolute = (text: string, needle: string) => {
    // an address or a relative path may hold the same letters: only a path that starts with them counts
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
      if (at === 0 || !/[\w.~}/-]/.test(text[at - 1])) return true;
    }
    return false;
  };
  const wrong = files.flatMap(({ file, text }) =>
    needles.filter((needle) => absolute(text, needle)).map((needle) => `${file}: ${needle}`),
  );
  expect(files.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

test("one version: of the package, its lock file, the Python client and the newest part of the changelog", () => {
  const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
  const lock = JSON.parse(read("package-lock.json")) as { version: string; packages: { "": { version: string } } };
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect({
    lock: [lock.version, lock.packages[""].version],
    python: /^__version__ = "(.*)"$/m.exec(read("python/src/corral/_version.py"))?.[1],
    changelog: /^## (\S+)/m.exec(read("CHANGELOG.md"))?.[1],
  }).toEqual({ lock: [version, version], python: version, changelog: version });
});

test("the index of decisions lists each once; a decision begins with its number", () => {
  const pages = files.filter(({ file }) => /^docs\/decisions\/\d/.test(file));
  const index = files.find(({ file }) => file === "docs/decisions/README.md")!.text;
  const listed = [...index.matchAll(/^- \[\d{4}\]\(([^)]+)\)/gm)].map(([, page]) => page);
  expect(listed.toSorted()).toEqual(pages.map(({ file }) => basename(file)).toSorted());
  expect(pages.filter(({ file, text }) => !text.startsWith(`# ${basename(file).slice(0, 4)}. `))).toEqual([]);
});

test("the lock file names no registry", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { resolved?: string }>;
  };
  const named = Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined);
  expect(named.map(([name]) => name)).toEqual([]);
});

test("a bench that prints ends quietly where its output is closed", () => {
  const benches = files.filter(
    ({ file, text }) => /^bench\/[^/]*\.ts$/.test(file) && /console\.log|stdout\.write/.test(text),
  );
  expect(benches.length).toBeGreaterThan(10);
  expect(benches.filter(({ text }) => !/^guardOutput\(\);$/m.test(text)).map(({ file }) => file)).toEqual([]);
});

test("no test is focused", () => {
  const tests = files.filter(({ file }) => file.startsWith("test/") && file.endsWith(".test.ts"));
  const focused = tests.filter(({ text }) => /\b(test|it|describe)\.only\b/.test(text)).map(({ file }) => file);
  expect(focused).toEqual([]);
});

test("no test has a limit of time of its own: vitest's is one that no slow machine meets", () => {
  const limits = /\btimeout: *[\d(]|\}, *\d[\d_]{3,}\);|^ +\d[\d_]{4,},\n *\);/m;
  const limited = files.filter(
    ({ file, text }) => file.startsWith("test/") && file.endsWith(".ts") && limits.test(text),
  );
  expect(limited.map(({ file }) => file)).toEqual([]);
});

test("names of sources are in kebab-case; what computes a function of MuJoCo's bears its name", () => {
  const known = new Set<string>([...STAGE_NAMES, "set_const"]);
  const wrong = files
    .map(({ file }) => file)
    .filter((file) => /\.(ts|mjs)$/.test(file) && !/^[a-z0-9.-]+$/.test(basename(file)))
    .filter((file) => !known.has(basename(file).replace(/(\.test)?\.ts$/, "")));
  expect(wrong).toEqual([]);
});

test("private state has one keyword, #; a constructor alone is called private, which has no other", () => {
  const keyword = /^ +(?:static |readonly |override )*private (?!constructor\()|[(,] *private (?:readonly )?\w+[:?]/m;
  const wrong = files.filter(({ file, text }) => file.endsWith(".ts") && keyword.test(text)).map(({ file }) => file);
  expect(wrong).toEqual([]);
});

test("a source begins with one line that says what it is for, in lower case unless it begins with a name", () => {
  const sources = files.filter(({ file }) => /^(src|viewer|envs)\/.*\.ts$/.test(file));
  const wrong = sources
    .filter(({ text }) => !/^\/\/ (?!(?:A|An|The|What|How|Which|Where) )\S/.test(text))
    .map(({ file }) => file);
  expect(sources.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});
