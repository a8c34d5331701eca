// terms as text: small expressions in the manner of WGSL, with the names of the model
export type { SourceText } from "./error.ts";
export { evaluate, unfitName } from "./evaluate.ts";
export { describeValue, isTruth, type Value } from "./value.ts";
