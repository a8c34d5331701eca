// `corral doctor`: what this machine offers, what corral will use, and what would make it faster
import { chooseDevice, DEVICES, isHostDevice } from "../batch/devices.ts";
import { formatBytes } from "../core/units.ts";
import { diagnose, type Diagnosis } from "../gpu/diagnosis.ts";
import { installEmbedded } from "../gpu/install-embedded.ts";
import { EXIT, parse, print, printJson, progress } from "./io.ts";

export const summary = "what this machine offers, what corral uses, what would make it faster";

export const help = `
Usage: corral doctor [--adapter NAME] [--install-software-adapter] [--json]

Opens an adapter as every other command would that asks for one, and prints the adapters with their
indices, driver, limits, features, the default memory budget and where it came from, on which device
commands run by default (an adapter, or WebAssembly, which needs none), and what to install for more
speed.

  --adapter NAME               auto (default), gpu, system, embedded or null, or one of the adapters
                               listed, by its index or a part of its name; CORRAL_ADAPTER does the
                               same everywhere
  --install-software-adapter   install a software driver (SwiftShader) into the cache: no root, no
                               GPU, linux-x64 only
  --json                       one JSON document on stdout

Warnings of the driver are shown where they explain a failure; CORRAL_DEBUG=1 shows all of them.
Exit codes: 0 an adapter can be opened, 2 bad usage, 3 none can.
`;

export async function run(args: string[]): Promise<number> {
  const { values } = parse(args, {
    adapter: { type: "string" },
    "install-software-adapter": { type: "boolean" },
  });
  if (values["install-software-adapter"]) {
    const { folder, fresh } = await installEmbedded(progress);
    progress(fresh ? `installed the software driver in ${folder}` : `the software driver is already in ${folder}`);
  }

  const diagnosis = await diagnose(values.adapter);
  const { adapter } = values;
  const chosen = await chooseDevice(adapter === undefined ? {} : { adapter });
  const device = isHostDevice(chosen) ? chosen : "gpu";
  if (values.json) printJson({ ...diagnosis, device });
  else
    print(
      `${describe(diagnosis)}\n\nDefault device: ${device} (${device === "gpu" ? "the adapter above" : DEVICES[device]})`,
    );
  return diagnosis.used ? EXIT.done : EXIT.refused;
}

function describe(diagnosis: Diagnosis): string {
  const { used, budget, ways, drivers } = diagnosis;
  const lines = [
    `corral on Node ${diagnosis.node}, ${diagnosis.platform}, ${diagnosis.cores} cores, ${formatBytes(diagnosis.memory)} memory`,
    "",
    "Adapters",
    ...ways.map(({ way, state, detail }) => `  ${way.padEnd(9)} ${state.padEnd(7)} ${detail}`),
  ];
  const chosen = diagnosis.adapters.map(({ index, name }) => `  ${index}  ${name}`);
  if (chosen.length > 0)
    lines.push("", "To choose one: --adapter or CORRAL_ADAPTER with its index or a part of its name", ...chosen);
  const mesa = drivers.filter((driver) => driver.mesa !== undefined);
  if (mesa.length > 0)
    lines.push("", `Vulkan drivers installed: ${mesa.map((d) => `${d.name} (Mesa ${d.mesa})`).join(", ")}`);

  if (used) {
    lines.push(
      "",
      `Used: ${used.driver}`,
      `  kind      ${used.kind}, ${used.source}`,
      `  features  ${diagnosis.features.join(", ") || "none"}`,
      `  subgroups ${used.subgroupMinSize} to ${used.subgroupMaxSize} lanes`,
      "  limits",
      ...Object.entries(diagnosis.limits ?? {}).map(([name, value]) => `    ${name.padEnd(36)} ${limit(name, value)}`),
    );
  } else lines.push("", `No device: ${diagnosis.error}`);
  if (budget) lines.push("", `Default budget: ${formatBytes(budget.bytes)} (${budget.source})`);
  if (diagnosis.advice.length > 0) lines.push("", "Advice", ...diagnosis.advice.map((line) => `  - ${line}`));
  return lines.join("\n");
}

function limit(name: string, value: number): string {
  return name.endsWith("Size") && !name.includes("Workgroup") ? `${value} (${formatBytes(value)})` : String(value);
}
