// where a page's models are compiled: a worker of the browser, so that MuJoCo holds nothing up
import { postedError } from "../core/posted.ts";
import type { CompileAnswer, CompileRequest } from "./compile-messages.ts";
import { compileSourceHere } from "./read-model.ts";

const answer = (message: CompileAnswer): void => (globalThis as unknown as Worker).postMessage(message);

addEventListener("message", ({ data: { id, source, name } }: MessageEvent<CompileRequest>) => {
  compileSourceHere(source, name).then(
    (model) => answer({ id, model }),
    (error: unknown) => answer({ id, error: postedError(error) }),
  );
});
