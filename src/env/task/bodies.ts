// bodies that options name
import { CorralError } from "../../core/errors.ts";
import { idOf, type Model } from "../../model/model.ts";

/**
 * The id of a body given by its id or name.
 * @throws CorralError bad-option, unknown-name
 */
export function bodyId(model: Model, option: string, body: number | string): number {
  if (typeof body === "string") return idOf(model, "body", body);
  if (Number.isInteger(body) && body >= 0 && body < model.nbody) return body;
  throw new CorralError(
    "bad-option",
    `${option} is ${body}; the model has bodies 0 to ${model.nbody - 1}. Pass one of these, or a name.`,
    { body },
  );
}
