/**
 * `node tools/ci-summary.mjs RESULTS STATUS [PYTHON] [STATUS]`: reads vitest's JSON, its exit status, pytest's XML and the
 * status of Python's tests, prints failures and counts.
 */

import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [file, status, python, pythonStatus = "0"] = process.argv.slice(2);

const results = read();
const failures = [];
let passed = 0;
let skipped = 0;
for (const suite of results.testResults) {
  const name = relative(process.cwd(), suite.name);
  for (const test of suite.assertionResults) {
    if (test.status === "passed") passed++;
    else if (test.status === "failed") failures.push(`${name}: ${test.fullName}`);
    else if (test.status === "pending") failures.push(`${name}: ${test.fullName} did not end`);
    else skipped++;
  }

  // a file that does not load has no tests to count
  const explained = suite.assertionResults.some((test) => test.status === "failed");
  if (suite.status === "failed" && !explained) failures.push(`${name}: ${firstLine(suite.message)}`);
}

for (const [, attributes, rest] of pythonCases()) {
  const name = ["classname", "name"].map((key) => new RegExp(` ${key}="([^"]*)"`).exec(attributes)?.[1]).join(" ");
  if (/<(failure|error)/.test(rest ?? "")) failures.push(`python: ${name}`);
  else if (/<skipped/.test(rest ?? "")) skipped++;
  else passed++;
}

// types that are wrong are no test
if (pythonStatus !== "0" && !failures.some((failure) => failure.startsWith("python: ")))
  failures.push(`python: its tests ended with status ${pythonStatus}; see above`);

// an unhandled error fails the run without failing a test; no tests at all are no success
if (failures.length === 0 && status !== "0") failures.push(`the test runner ended with status ${status}; see above`);
if (failures.length === 0 && passed === 0) failures.push("no test ran");

for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failures.length === 0 ? 0 : 1;

function read() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // the runner died before it wrote anything
    return { testResults: [] };
  }
}

/** Attributes and content of each case of pytest; none where Python's packages could not be installed. */
function pythonCases() {
  if (python === undefined || !existsSync(python)) return [];
  const text = readFileSync(python, "utf8");
  return text.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g);
}

function firstLine(text) {
  return (text || "failed outside its tests").split("\n")[0];
}
