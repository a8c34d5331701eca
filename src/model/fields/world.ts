// what corral keeps of a world beside mjData
import { group, row } from "./row.ts";

export const WORLD_FIELDS = group("world", [row("status", "u32", [1], "", "bits: what went wrong in this world")]);
