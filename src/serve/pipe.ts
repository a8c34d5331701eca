// one peer over a pair of streams: a request a line, answered in order
import type { Readable, Writable } from "node:stream";
import { CorralError } from "../core/errors.ts";
import { Lines } from "./lines.ts";
import type { Service } from "./service.ts";
import { encode, errorReply, LONGEST_LINE, okReply, partReply, readRequest } from "./wire.ts";

/** Serves until the peer closes its end or says `bye`, or says what cannot be understood. */
export async function servePipe(service: Service, input: Readable, output: Pick<Writable, "write">): Promise<void> {
  const lines = new Lines();
  const failures: Error[] = [];
  let isOver = false;
  let wake = (): void => {};
  // the stream's iterator takes more turns for each request, and a process that has slept finds all of its code cold
  input.on("data", (chunk: Buffer) => {
    lines.add(chunk);
    wake();
  });
  input.once("error", (error) => {
    failures.push(error);
    wake();
  });
  for (const end of ["end", "close"])
    input.once(end, () => {
      isOver = true;
      wake();
    });
  for (;;) {
    const line = lines.next();
    if (line !== undefined) {
      if (line.trim() !== "") output.write(await answer(service, line, output));
      if (service.isOver) return;
    } else if (failures.length > 0) throw failures[0];
    else if (lines.waiting > LONGEST_LINE)
      throw new CorralError("bad-request", `a request is longer than ${LONGEST_LINE} bytes.`);
    else if (isOver) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

/** The line that answers a line. */
async function answer(service: Service, line: string, output: Pick<Writable, "write">): Promise<string> {
  let id = 0;
  try {
    const request = readRequest(line);
    ({ id } = request);
    return okReply(id, await service.call(request, () => output.write(partReply(id))));
  } catch (error) {
    return `${encode(errorReply(id, error))}\n`;
  }
}
