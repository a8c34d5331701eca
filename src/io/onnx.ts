// models in the Open Neural Network Exchange format (onnx.proto3 of onnx/onnx), opset 17
import { bytes, float32, integer, message, text } from "./protobuf.ts";

const IR_VERSION = 8;
const OPSET = 17;
const FLOAT = 1;
const INT64 = 7;
/** Kinds of attributes. */
const ATTRIBUTE = { float: 1, int: 2 } as const;

export type OnnxType = "float32" | "int64";

/** An input or output; axes are counts, or names of sizes that callers choose. */
export interface OnnxValue {
  readonly name: string;
  readonly type: OnnxType;
  readonly shape: readonly (number | string)[];
}

export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integers, but if a number is given as `{ float }`. */
  readonly attributes?: Readonly<Record<string, number | { readonly float: number }>>;
}

/** A constant: 32-bit floats, or 64-bit integers. */
export interface OnnxConstant {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | BigInt64Array;
}

export interface OnnxGraph {
  readonly name: string;
  readonly producer: string;
  readonly version: string;
  readonly doc: string;
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly constants: readonly OnnxConstant[];
  readonly nodes: readonly OnnxNode[];
  readonly metadata: Readonly<Record<string, string>>;
}

const typeOf = (type: OnnxType): number => (type === "float32" ? FLOAT : INT64);

function valueInfo(field: number, { name, type, shape }: OnnxValue): Uint8Array {
  const axes = shape.map((n) => bytes(1, typeof n === "number" ? integer(1, n) : text(2, n)));
  const tensor = message(integer(1, typeOf(type)), bytes(2, message(axes)));
  return bytes(field, message(text(1, name), bytes(2, bytes(1, tensor))));
}

function constant({ name, shape, data }: OnnxConstant): Uint8Array {
  const type = data instanceof Float32Array ? FLOAT : INT64;
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const dims = shape.map((n) => integer(1, n));
  return bytes(5, message(dims, integer(2, type), text(8, name), bytes(9, raw)));
}

function node({ op, inputs, outputs, attributes = {} }: OnnxNode, index: number): Uint8Array {
  const fields = Object.entries(attributes).map(([name, value]) =>
    bytes(
      5,
      typeof value === "number"
        ? message(text(1, name), integer(3, value), integer(20, ATTRIBUTE.int))
        : message(text(1, name), float32(2, value.float), integer(20, ATTRIBUTE.float)),
    ),
  );
  return bytes(
    1,
    message(
      inputs.map((name) => text(1, name)),
      outputs.map((name) => text(2, name)),
      text(3, `${op}_${index}`),
      text(4, op),
      fields,
    ),
  );
}

/** The bytes of a model file, the same for the same graph. */
export function encodeOnnx(graph: OnnxGraph): Uint8Array<ArrayBuffer> {
  const body = message(
    graph.nodes.map(node),
    text(2, graph.name),
    graph.constants.map(constant),
    graph.inputs.map((value) => valueInfo(11, value)),
    graph.outputs.map((value) => valueInfo(12, value)),
  );
  return message(
    integer(1, IR_VERSION),
    text(2, graph.producer),
    text(3, graph.version),
    text(6, graph.doc),
    bytes(7, body),
    bytes(8, integer(2, OPSET)),
    Object.entries(graph.metadata).map(([key, value]) => bytes(14, message(text(1, key), text(2, value)))),
  );
}
