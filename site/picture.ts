// the picture of the demo: the page of corral view, whose worlds are in a worker
import { decodeFrame, fromJson, type Command, type Facts } from "../src/view/messages.ts";
import { say } from "../viewer/dom.ts";
import { start } from "../viewer/page.ts";
import type { Source } from "../viewer/source.ts";
import type { FromSession, ToSession } from "./messages.ts";

/** The way to the worlds, once the page around has it. */
const opened = new Promise<MessagePort>((resolve) => {
  addEventListener("message", (event: MessageEvent) => {
    if (event.origin === location.origin && event.source === parent && event.ports[0]) resolve(event.ports[0]);
  });
});

const opener: NonNullable<Parameters<typeof start>[0]> = async (onFrame, onFault) => {
  const port = await opened;
  const ask = (message: ToSession) => port.postMessage(message);
  let serial = 0;
  return new Promise<Source>((resolve) => {
    port.addEventListener("message", ({ data }: MessageEvent<FromSession>) => {
      if ("said" in data) onFault(data.said);
      else if ("facts" in data) {
        const act = (command: Command) => ask({ act: command });
        resolve({ facts: fromJson(data.facts) as Facts, shader: data.shader, act });
        ask({ after: 0 });
      } else {
        if (data.frame.byteLength > 0) {
          const frame = decodeFrame(data.frame);
          serial = frame.facts.serial;
          onFrame(frame);
        }
        requestAnimationFrame(() => ask({ after: serial }));
      }
    });
    port.start();
  });
};

start(opener).catch((error: unknown) => say(`The picture cannot start: ${(error as Error).message}`));
parent.postMessage("ready", location.origin);
