// asks the system's drivers from a child process, whose stderr can be read: only there does Dawn say what a driver lacks
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { driverManifests } from "./loader.ts";

const PROBE_TIMEOUT_MS = 20_000;

/** What the system's drivers offer. */
export interface SystemProbe {
  /** Names of the adapters that Dawn accepts. */
  readonly adapters: string[];
  /** What Dawn and the loader say of the drivers that they do not accept, one line each. */
  readonly complaints: string[];
}

// Dawn lists what there is when asked for what there is not
const SCRIPT = `
const { create } = await import(process.argv[1]);
const answer = await create(["adapter=no adapter is called this"]).requestAdapter().catch(String);
process.stdout.write(JSON.stringify([...String(answer).matchAll(/name: '(.*)'/g)].map(([, name]) => name)));
process.exit(0);`;

/** Probes in a child process. Never throws: a driver that crashes is a complaint. */
export async function probeSystem(): Promise<SystemProbe> {
  const webgpu = pathToFileURL(createRequire(import.meta.url).resolve("webgpu")).href;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", SCRIPT, webgpu], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PROBE_TIMEOUT_MS,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = await new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, signal) =>
      resolve(status === 0 ? "" : `the probe ended with ${signal ?? `status ${status}`}`),
    );
  });

  const complaints = complaintsIn(stderr);
  if (ended) complaints.push(ended);
  return { adapters: adaptersIn(stdout), complaints };
}

function adaptersIn(stdout: string): string[] {
  try {
    // Dawn writes notes of its own to stdout, on lines before ours
    return JSON.parse(stdout.slice(stdout.lastIndexOf("["))) as string[];
  } catch {
    return [];
  }
}

/** The lines of Dawn's stderr that say something of a driver: without places, hints and what is harmless. */
export function complaintsIn(stderr: string): string[] {
  const lines = stderr
    .split("\n")
    .filter((line) => /^(Warning|Error): /.test(line) && !/artificially reduced/.test(line))
    .map((line) =>
      line
        .replace(/^(Warning|Error): /, "")
        .replace(/\.$/, "")
        .trim(),
    );
  return [...new Set(lines)];
}

/** An installed Vulkan driver: its manifest and, for Mesa, the version inside its library. */
export interface InstalledDriver {
  readonly manifest: string;
  readonly mesa: string | undefined;
}

/** The installed Vulkan drivers. Reads each library: for `corral doctor`, not for the way to a device. */
export function installedDrivers(): InstalledDriver[] {
  return driverManifests().map((manifest) => ({ manifest, mesa: mesaVersion(manifest) }));
}

function mesaVersion(manifest: string): string | undefined {
  try {
    const { ICD } = JSON.parse(readFileSync(manifest, "utf8")) as { ICD: { library_path: string } };
    const library = readLibrary(ICD.library_path, manifest);
    return /Mesa (\d+\.\d+\.\d+)/.exec(library)?.[1];
  } catch {
    return undefined;
  }
}

// a bare name is searched as the dynamic linker does, in the usual folders
function readLibrary(path: string, manifest: string): string {
  const folders = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
  ];
  const bare = !path.includes("/");
  const candidates = bare
    ? folders.map((folder) => join(folder, path))
    : [isAbsolute(path) ? path : join(dirname(manifest), path)];
  for (const candidate of candidates) {
    try {
      return readFileSync(candidate, "latin1");
    } catch {
      // the next folder may have it
    }
  }
  return "";
}
