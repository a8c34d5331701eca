// a replay in a file, which a page has none of
import { CorralError } from "../../core/errors.ts";

export const FileRows = {
  /** @throws CorralError bad-option */
  open(): never {
    throw new CorralError("bad-option", `storage is "file"; a page has no files. Pass "gpu" or "host".`, {
      option: "storage",
    });
  },
};
