// the user's own task files: commands take one in place of the id of an environment
import { existsSync, realpathSync } from "node:fs";
import { dirname, extname, isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CorralError } from "../core/errors.ts";
import { importModule, isModuleFile } from "../core/typescript.ts";
import { isJsEnv } from "../env/js-env.ts";
import { register } from "../env/registry.ts";
import type { Task } from "../env/task/task.ts";

const files = new Map<string, string>();

/** The file that a task came from, absolute; undefined for those of corral. */
export const taskFileOf = (id: string): string | undefined => files.get(id);

/** What threads import to know a task: the URL of its file, or nothing. */
export function modulesOf(id: string): string[] {
  const file = taskFileOf(id);
  return file === undefined ? [] : [pathToFileURL(file).href];
}

export const isTaskFile = (argument: string): boolean => isModuleFile(argument) && !argument.startsWith("-");

/** The arguments with each task file registered and replaced by its id. */
export async function withTaskFiles(args: readonly string[]): Promise<string[]> {
  const out: string[] = [];
  for (const [i, argument] of args.entries()) {
    // a teacher may be a module too
    const isTask = isTaskFile(argument) && args[i - 1] !== "--teacher";
    out.push(isTask ? await idOfFile(argument) : argument);
  }
  return out;
}

/**
 * Registers the task that a file exports by default, and returns its id.
 * @throws CorralError bad-task-file, and those that the file throws
 */
export async function idOfFile(path: string): Promise<string> {
  const refuse = (text: string, cause?: unknown) =>
    new CorralError("bad-task-file", `${path} ${text}`, { path }, { cause });
  const file = resolve(path);
  if (!existsSync(file)) {
    const twin = twinOf(path);
    throw refuse(`is not there. Pass ${twin ?? "the path of a file, or the id of an environment"}.`);
  }
  let module: { readonly default?: Partial<Task> };
  try {
    module = await importModule(file);
  } catch (error) {
    // a file may throw anything
    const { code } = Object(error) as NodeJS.ErrnoException;
    if (code === "ERR_REQUIRE_CYCLE_MODULE" || code === "ERR_REQUIRE_ASYNC_MODULE")
      throw refuse('is CommonJS to Node. Name it .mts, or put "type": "module" into the package.json beside it.');
    if (code === "ERR_UNKNOWN_FILE_EXTENSION")
      throw refuse(
        `is TypeScript, which Node ${process.versions.node} does not read. Run npm install --save-dev tsx beside it, ` +
          "use Node 22.18 or newer, or write it as JavaScript (.mjs).",
      );
    const unbuilt = code === "ERR_MODULE_NOT_FOUND" ? unbuiltIn((error as Error).message) : undefined;
    if (unbuilt !== undefined)
      throw refuse(`imports corral, which is a clone that is not built. Run npm run build in ${unbuilt}.`, error);
    if (code === "ERR_MODULE_NOT_FOUND" && /package 'corral'/.test((error as Error).message))
      throw refuse(
        "imports corral, which is not installed where it lies. Run npm install corral in that folder.",
        error,
      );
    if (error instanceof CorralError) throw error;
    throw refuse(`cannot be loaded: ${whyOf(error, file)}. Mend it there.`, error);
  }
  const task: Partial<Task> | (() => unknown) | null | undefined = module.default;
  if (typeof task === "function")
    throw refuse(
      "exports a function by default, and a task is an object. Write: export default defineTask({ id, model, ... }), " +
        "or call the function there.",
    );
  if (isJsEnv(task))
    throw refuse(
      "exports an environment in JavaScript, which commands do not take: they plan, step and check models. " +
        "Train it in a program: Ppo.create(makeJsVec(env, { numEnvs: 16 })), as in docs/off-policy-and-collectors.md.",
    );
  if (typeof task !== "object" || task === null || typeof task.id !== "string" || task.model === undefined)
    throw refuse("exports no task. Write: export default defineTask({ id, model, ... }).");
  register(task as Task);
  files.set(task.id, file);
  return task.id;
}

/**
 * Registers the task of which a run's config or checkpoint says the file, and returns its id. A task is a program: a folder
 * from elsewhere must not bring one along, so the file is that of an absolute path, and lies elsewhere.
 * @throws CorralError task-not-followed; what `idOfFile` throws
 */
export async function idOfNamed(task: string, by: string): Promise<string> {
  const why = notFollowed(task, by);
  if (why === undefined) return idOfFile(task);
  throw new CorralError(
    "task-not-followed",
    `${by} names the task file ${task}, which ${why}: a folder from elsewhere could bring its own program along. Where you trust it, give the file on the command line (corral train FILE --config ...), or put its absolute path, outside of that folder, into the config.`,
    { task, by },
  );
}

/** A teacher as configs hold it: a module by its absolute path, which is followed. */
export const asNamed = <T extends string | undefined>(teacher: T): T | string =>
  teacher !== undefined && isTaskFile(teacher) ? resolve(teacher) : teacher;

/** The same of a teacher that is a module; one of the command line is followed. Throws `teacher-not-followed`. */
export function assertTeacher(teacher: unknown, given: string | undefined, by: string): void {
  if (typeof teacher !== "string" || !isTaskFile(teacher) || teacher === asNamed(given)) return;
  const why = notFollowed(teacher, by);
  if (why === undefined) return;
  throw new CorralError(
    "teacher-not-followed",
    `${by} names the teacher ${teacher}, which ${why}: a folder from elsewhere could bring its own program along. Where you trust it, pass --teacher, or put its absolute path, outside of that folder, into the config.`,
    { teacher, by },
  );
}

/** Why a program that a file names is not executed; undefined where it is. */
function notFollowed(program: string, by: string): string | undefined {
  if (!isAbsolute(program)) return "is no absolute path";
  return isWithin(dirname(resolve(by)), program) ? "lies beside it" : undefined;
}

/** A file of the same name and another ending: `corral new-task` writes what Node reads. */
function twinOf(path: string): string | undefined {
  const stem = path.slice(0, -extname(path).length);
  return [".mjs", ".mts", ".js", ".ts"].map((ending) => stem + ending).find((file) => existsSync(file));
}

/** The clone of corral whose built entry a module could not import. */
function unbuiltIn(message: string): string | undefined {
  const [, folder] = /'(.+)[/\\]dist[/\\]src[/\\]index\.js'/.exec(message) ?? [];
  return folder !== undefined && existsSync(join(folder, "src", "index.ts")) ? folder : undefined;
}

/** Whether a path lies in a folder, links followed. */
function isWithin(folder: string, path: string): boolean {
  const real = (p: string) => (existsSync(p) ? realpathSync(p) : p);
  const place = relative(real(folder), real(path));
  return !isAbsolute(place) && place.split(/[/\\]/)[0] !== "..";
}

/** What an error of a file says, and the line of it that was reached, if the text does not name it. */
function whyOf(error: unknown, file: string): string {
  const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
  // the TypeScript compiler reports on a separate line where the mistake is
  const text = message
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, 2)
    .join(" ")
    .replace(/\.$/, "");
  const [, line] = new RegExp(`${file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(:\\d+:\\d+)`).exec(stack) ?? [];
  return line === undefined || text.includes(line) ? text : `${text} (line ${line.slice(1).split(":")[0]})`;
}
