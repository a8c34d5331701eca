import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CorralError } from "../../../src/core/errors.ts";
import { field, FIELDS, fieldShape, fieldSize, fieldsOf, SIZES } from "../../../src/model/fields.ts";
import { createOracle } from "../../../src/model/oracle.ts";
import { fieldsDoc } from "../../../tools/fields-doc.ts";
import { loadTestModel } from "../../support/mjcf.ts";

describe("the field table", () => {
  test("names are unique and every row is documented", () => {
    const names = FIELDS.map((f) => f.name);
    expect(new Set(names).size).toBe(names.length);
    for (const f of FIELDS) expect([f.name, f.doc.length > 3]).toEqual([f.name, true]);
  });

  test("docs/fields.md is up to date (npx tsx tools/fields-doc.ts)", () => {
    expect(readFileSync(new URL("../../../docs/fields.md", import.meta.url), "utf8")).toBe(fieldsDoc());
  });

  test("shapes are the model's sizes", async () => {
    const model = await loadTestModel("envs/ant");
    expect(fieldShape(model, "body_inertia")).toEqual([14, 3]);
    expect(fieldSize(model, "qpos")).toBe(15);
    expect(fieldSize(model, "time")).toBe(1);
    expect(fieldSize(model, "efc_J", { njmax: 10 })).toBe(140);
    for (const f of fieldsOf("state")) expect(fieldSize(model, f.name)).toBeGreaterThanOrEqual(0);
  });

  test.each([undefined, null, 3, "ant.xml"])("sizes that are %j are refused", (sizes) => {
    expect(() => fieldShape(sizes as never, "qpos")).toThrow(expect.objectContaining({ code: "field-size" }));
  });

  test("a name that is none is refused", () => {
    for (const name of [undefined, 3, {}])
      expect(() => fieldShape({} as never, name as never)).toThrow(expect.objectContaining({ code: "unknown-field" }));
  });

  test("a missing capacity and an unknown field are named", async () => {
    const model = await loadTestModel("static");
    expect(() => fieldSize(model, "efc_J")).toThrowError(/field-size.*njmax/);
    expect(() => field("qposs" as never)).toThrowError(CorralError);
    expect(() => field("qposs" as never)).toThrowError(/unknown-field.*qpos/);
  });

  test("state and derived fields have the size of mjData's arrays of the same name", async () => {
    const model = await loadTestModel("sensors");
    const oracle = await createOracle(model);
    // per contact, per row or scalar: no array of fixed size in mjData
    const loose = (shape: readonly unknown[]) => shape.some((d) => d === "nconmax" || d === "njmax") || shape[0] === 1;
    for (const f of [...fieldsOf("state"), ...fieldsOf("derived")]) {
      // MuJoCo has energy_vel as a scalar and a flag
      if (loose(f.shape) || f.name === "energy_vel") continue;
      expect([f.name, oracle.read(f.name).length]).toEqual([f.name, fieldSize(model, f.name)]);
    }
    oracle.delete();
  });

  test("sizes are MuJoCo's", async () => {
    const model = await loadTestModel("sensors");
    const oracle = await createOracle(model);
    for (const size of SIZES) expect([size, model[size]]).toEqual([size, oracle.model[size]]);
    oracle.delete();
  });
});
