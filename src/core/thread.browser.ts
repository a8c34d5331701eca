// threads that run a program given as text: workers of the page
import type { Thread, ThreadEvents } from "./thread.ts";

export function startThread(program: string, data: object, name: string, events: ThreadEvents): Thread {
  const text = `onmessage = ({ data }) => (${program})(self, data);`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(address, { name });
  worker.addEventListener("message", ({ data: value }: MessageEvent<number>) => {
    URL.revokeObjectURL(address);
    events.message(value);
  });
  worker.addEventListener("error", ({ message }) =>
    events.ended(message || "the page does not let workers start from blob: addresses"),
  );
  worker.postMessage(data);
  return {
    hold() {},
    async terminate() {
      worker.terminate();
    },
  };
}
