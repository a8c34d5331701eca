// the program of cli-process.ts: a command for each message, answered with what it printed
import { corralInside } from "./cli-inside.ts";

process.on("message", (args: string[]) => {
  void corralInside(args).then((ended) => process.send!(ended));
});
