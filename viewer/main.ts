// where the page of corral view begins
import { say } from "./dom.ts";
import { start } from "./page.ts";

start().catch((error: unknown) => say(`The viewer cannot start: ${(error as Error).message}`));
