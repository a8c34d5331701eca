// pages read the pair of a row and a column from a table: models of hundreds of geoms are rare there, and a rule takes room in the bundle
import type * as whole from "./pair-rule.ts";

export const ruleOf: typeof whole.ruleOf = () => undefined;
export const readRule: typeof whole.readRule = () => {
  throw new Error("pages have no rule of pairs");
};
