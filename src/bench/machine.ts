// what a measurement was made on
import { availableParallelism, cpus, totalmem } from "node:os";
import { performance } from "node:perf_hooks";

/** Facts that a throughput cannot be read without. */
export interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
  readonly platform: string;
  readonly node: string;
  readonly driver: string;
}

export function machineFacts(driver: string): MachineFacts {
  const model = cpus()[0]?.model.trim();
  return {
    cpu: model === undefined || model === "" || model === "unknown" ? process.arch : model,
    cores: availableParallelism(),
    memory: totalmem(),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
    driver,
  };
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/\(r\)|\(tm\)|\bcpu\b|@.*$/g, " ")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");

/** A name for a folder of results: the processor and the driver, without its version. */
export function machineName({ cpu, driver }: MachineFacts): string {
  const [, kind] = /^([^\d:(]+)/.exec(driver) ?? [driver, driver];
  return [slug(cpu), slug(kind)].filter((part) => part !== "").join("-");
}

/** Seconds since an arbitrary moment. */
export const now = (): number => performance.now() / 1000;

/** Seconds of processor time that all threads of this process have used. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
