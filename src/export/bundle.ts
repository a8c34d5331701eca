// a policy for the browser: a folder with its kernel, its weights, and the few lines that run them on a GPUDevice
import { readFileSync } from "node:fs";
import type { Policy } from "../rl/networks/policy.ts";
import { encodePolicySafetensors, weightPlaces } from "./safetensors.ts";
import { policyKernel } from "./wgsl.ts";

/** What is the same for every policy. */
const STATIC = ["policy.js", "policy.d.ts", "index.html"] as const;

const textOf = (name: string): string =>
  readFileSync(new URL(`../../shaders/browser/${name}`, import.meta.url), "utf8");

/** The files by name. Throws `unsupported-export`. */
export function policyBundle(policy: Policy): Record<string, string | Uint8Array<ArrayBuffer>> {
  const { id, algo, observations, cell, head } = policy;
  const actions = head.kind === "gaussian" ? head.actions : head.alternatives.length;
  const places = weightPlaces(policy);
  const kind = head.kind === "gaussian" ? "box" : "discrete";
  const description = { env: id, algo, observations, actions, hidden: cell?.stateSize ?? 0, kind };
  return {
    "policy.wgsl": policyKernel(policy, (name) => places.get(name)!),
    "policy.safetensors": encodePolicySafetensors(policy),
    "policy.json": `${JSON.stringify(description, undefined, 2)}\n`,
    ...Object.fromEntries(STATIC.map((name) => [name, textOf(name)])),
    "README.md": textOf("README.md")
      .replace("{env}", id)
      .replace("{algo}", algo)
      .replace("{observations}", String(observations))
      .replace("{actions}", inWords(head, actions)),
  };
}

function inWords(head: Policy["head"], actions: number): string {
  if (head.kind === "gaussian") return `${actions} action${actions === 1 ? "" : "s"} out, within the bounds`;
  return `${actions} integer${actions === 1 ? "" : "s"} out`;
}
