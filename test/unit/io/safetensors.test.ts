import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeSafetensors, encodeSafetensors, type Tensor } from "../../../src/io/safetensors.ts";
import { layOutNetworks, namedNormalizer, namedParameters } from "../../../src/rl/networks/networks.ts";

// written by safetensors 0.8 of Python: save({"b": [[1, 2]] float32, "a": [7] uint8}, {"k": "v"})
const PYTHON =
  "88000000000000007b225f5f6d657461646174615f5f223a7b226b223a2276227d2c2262223a7b226474797065223a22463332222c227368617065223a5b312c325d2c22646174615f6f666673657473223a5b302c385d7d2c2261223a7b226474797065223a225538222c227368617065223a5b315d2c22646174615f6f666673657473223a5b382c395d7d7d2020200000803f0000004007";

describe("safetensors", () => {
  test("reads and writes what Python's library does", () => {
    const bytes = Uint8Array.from(Buffer.from(PYTHON, "hex"));
    const { tensors, metadata } = decodeSafetensors(bytes, "python");
    expect(metadata).toEqual({ k: "v" });
    expect(tensors.get("b")).toEqual({ shape: [1, 2], data: new Float32Array([1, 2]) });
    expect(tensors.get("a")).toEqual({ shape: [1], data: new Uint8Array([7]) });
    expect(Buffer.from(encodeSafetensors(Object.fromEntries(tensors), metadata)).toString("hex")).toBe(PYTHON);
  });

  test("a Buffer that lies in a larger one, as file systems give them", () => {
    const { tensors } = decodeSafetensors(Buffer.from(PYTHON, "hex"), "python");
    expect(tensors.get("b")!.data).toEqual(new Float32Array([1, 2]));
    expect(tensors.get("a")!.data).toEqual(new Uint8Array([7]));
  });

  test("what is written is read, bit for bit, whatever the types and sizes", () => {
    const data = fc.oneof(
      fc.float32Array({ maxLength: 9 }),
      fc.float64Array({ maxLength: 9 }),
      fc.uint8Array({ maxLength: 9 }),
      fc.uint32Array({ maxLength: 9 }),
      fc.int32Array({ maxLength: 9 }),
    );
    const name = fc.string({ unit: "binary", minLength: 1 }).filter((s) => s !== "__metadata__" && s !== "__proto__");
    fc.assert(
      fc.property(fc.dictionary(name, data, { noNullPrototype: true }), (arrays) => {
        const tensors: Record<string, Tensor> = {};
        for (const [key, array] of Object.entries(arrays)) tensors[key] = { shape: [array.length], data: array };
        const read = decodeSafetensors(encodeSafetensors(tensors), "it");
        expect(Object.fromEntries(read.tensors)).toEqual(tensors);
      }),
    );
  });

  test("a file that was cut off or altered is refused, or reads as something else, but never breaks", () => {
    const bytes = Uint8Array.from(Buffer.from(PYTHON, "hex"));
    const read = (altered: Uint8Array) => decodeSafetensors(altered, "file");
    for (let length = 0; length < bytes.length; length++) {
      expect(() => read(bytes.slice(0, length)), String(length)).toThrow(
        expect.objectContaining({ code: "bad-safetensors" }),
      );
    }
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
        const altered = bytes.slice();
        altered[at] = value;
        try {
          read(altered);
        } catch (error) {
          expect(error).toMatchObject({ code: "bad-safetensors" });
        }
      }),
    );
  });
});

test("parameters by name have PyTorch's shapes and no padding", () => {
  const options = {
    observations: 3,
    outputs: 2,
    hidden: [5],
    form: { activation: "tanh", layerNorm: false },
    logStds: 2,
  } as const;
  const nets = layOutNetworks(options);
  const params = Float32Array.from({ length: 4 * nets.params4 }, (_, i) => i);
  const named = namedParameters(nets, params);
  expect(Object.entries(named).map(([name, { shape }]) => `${name} ${shape.join("x")}`)).toEqual([
    "policy.0.weight 5x3",
    "policy.0.bias 5",
    "policy.1.weight 2x5",
    "policy.1.bias 2",
    "value.0.weight 5x3",
    "value.0.bias 5",
    "value.1.weight 1x5",
    "value.1.bias 1",
    "log_std 2",
  ]);
  // rows of 8 inputs: input 2 to output 4
  expect(named["policy.0.weight"].data[4 * 3 + 2]).toBe(2 * 8 + 4);
  expect(named["policy.0.bias"].data[1]).toBe(8 * 8 + 1);

  const norm = namedNormalizer(3, params);
  expect(norm["normalizer.inverse_std"].data).toEqual(new Float32Array([8, 9, 10]));
  expect(norm["normalizer.count"]).toEqual({ shape: [1], data: new Float32Array([24]) });
});
