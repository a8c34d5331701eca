// one peer over a pair of streams: a request a line, answered in order
import type { Readable, Writable } from "node:stream";
import { CorralError } from "../core/errors.ts";
import type { Service } from "./service.ts";
import { encode, errorReply, LONGEST_LINE, readRequest } from "./wire.ts";

/** Serves until the peer closes its end, or says what cannot be understood. */
export async function servePipe(service: Service, input: Readable, output: Writable): Promise<void> {
  let rest = "";
  input.setEncoding("utf8");
  for await (const chunk of input as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.trim() === "") continue;
      output.write(`${encode(await answer(service, line))}\n`);
    }
    if (rest.length > LONGEST_LINE)
      throw new CorralError("bad-request", `a request is longer than ${LONGEST_LINE} characters.`);
  }
}

async function answer(service: Service, line: string): Promise<object> {
  let id = 0;
  try {
    const request = readRequest(line);
    ({ id } = request);
    return { id, ok: await service.call(request) };
  } catch (error) {
    return errorReply(id, error);
  }
}
