// `corral view`: a page on this machine that shows worlds and moves them
import { pageFiles } from "../view/page.ts";
import { routesOf } from "../view/routes.ts";
import { ViewServer } from "../view/server.ts";
import { Session } from "../view/session.ts";
import { EXIT, parse, portOption, print, printJson } from "./io.ts";
import { openBrowser } from "./open-browser.ts";
import { onlyArgument } from "./target.ts";
import { viewTarget } from "./view-target.ts";

export const summary = "a page on this machine of worlds: a model, environment, run, recording or crash";

export const help = `
Usage: corral view TARGET [options]

Opens a page in the browser that shows worlds of TARGET: the path of an MJCF file, the id of an
environment, a task file, the folder of a run, whose policy acts, the file of a policy
(.safetensors) of corral export, which acts in its environment, a recording (.npz) of corral play,
or a crash bundle. The page is served to this machine alone, at an address with a secret in it, and
loads nothing from elsewhere. The browser needs WebGPU. Worlds step in this process while a page
looks. Ctrl-C ends it.

Of a crash bundle the recorded control steps are executed again and shown as a timeline, with
MuJoCo's float64 from the same state beside them, and the first bad number at the body or joint it
is of.

  --worlds N        worlds side by side (1)
  --policy FILE     a policy of corral export acts in the environment
  --actions WHAT    random, policy or none at first; a policy acts by itself
  --seed S          of start states and random actions (0)
  --paused          begin paused, as crashes do
  --world ID        of a crash bundle: the world to look at, by id; default: the first that failed
  --port N          of the address (a free one)
  --no-open         print the address and open no browser
  --device NAME     where worlds step: wasm (default, WebAssembly in float32), gpu, auto, cpu
                    (JavaScript, the same bits) or cpu-f64 (JavaScript, float64)
  --threads N       threads of wasm (as many as cores); 1 steps in the calling thread
  --adapter NAME    of a GPU: auto, gpu, system, embedded, or an index or name of corral doctor
  --json            one JSON document on stdout: the address

In the page: drag turns, shift-drag moves, wheel nears, click names a body, ctrl-drag pulls it by a
spring; space plays, arrows step and step back, backspace resets, w a s d turn (with alt they move),
+ and - near, h goes home. Pointing at a body tells its numbers.

Exit codes: 0 ended, 2 bad usage or what cannot be read, 3 no device or no memory.
`;

const text = { type: "string" } as const;
const OPTIONS = {
  worlds: text,
  world: text,
  actions: text,
  policy: text,
  seed: text,
  port: text,
  paused: { type: "boolean" },
  "no-open": { type: "boolean" },
  device: text,
  threads: text,
  adapter: text,
} as const;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OPTIONS, 1);
  const target = onlyArgument(positionals, "TARGET");
  const port = portOption(values.port);
  const files = await pageFiles();
  const subject = await viewTarget(target, values);
  await using session = new Session(subject, values.paused ?? subject.facts.kind === "crash");
  await using server = await ViewServer.listen(routesOf(session, files), port);
  if (values.json) printJson({ target, url: server.url });
  else print(`${target}: ${server.url}`);
  if (!values["no-open"]) openBrowser(server.url);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  return EXIT.done;
}
