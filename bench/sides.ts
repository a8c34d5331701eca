// a process that measures one side of a bench when it is asked: it tells what it is, then a rate for each kind asked for
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

export class Side<Facts> {
  readonly name: string;
  readonly facts: Facts;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  private constructor(name: string, facts: Facts, child: ChildProcess, lines: AsyncIterator<string>) {
    this.name = name;
    this.facts = facts;
    this.#child = child;
    this.#lines = lines;
    this.#ended = new Promise((resolve) => child.once("close", resolve));
  }

  /** Starts a command with a setup on its stdin; it answers with its facts once it is warm. What it says of itself goes on. */
  static async start<Facts>(
    name: string,
    command: string,
    args: readonly string[],
    setup: object,
  ): Promise<Side<Facts>> {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4000);
      for (const line of text.split("\n")) if (line.startsWith("  ")) process.stderr.write(`${line}\n`);
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify(setup)}\n`);
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`${name}: ${said}`);
    return new Side(name, JSON.parse(value) as Facts, child, lines);
  }

  /** Measures one kind. */
  async ask(kind: string): Promise<number> {
    this.#child.stdin!.write(`${JSON.stringify({ kind })}\n`);
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error(`${this.name} ended when it was asked for ${kind}.`);
    return (JSON.parse(value) as { rate: number }).rate;
  }

  /** Lets the process end. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
  }
}
