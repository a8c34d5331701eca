// functions between layers: one row for kernels, host, exports and options

/** What may follow a hidden layer. */
export const HIDDEN_ACTIVATIONS = ["tanh", "relu", "elu", "silu"] as const;
export type HiddenActivation = (typeof HIDDEN_ACTIVATIONS)[number];
/** What follows a layer. */
export type Activation = HiddenActivation | "none";

interface ActivationRow {
  /** What jobs of the kernels call it. */
  readonly code: number;
  readonly onHost: (x: number) => number;
  /** Its value in WGSL, of vec4s `x`; NaN stays NaN. */
  readonly value: string;
  /** Its derivative in WGSL, of its own value `y`, or of its argument `x` where the value does not tell. */
  readonly slope: string;
  readonly slopeOf: "value" | "argument";
  /** Nodes of ONNX one after another; "$x" is the argument, "$0" what the node before puts out. */
  readonly onnx: readonly (readonly [op: string, ...inputs: string[]])[];
}

export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const SIGMOID = "(vec4<f32>(0.5) + 0.5 * poly_tanh4(0.5 * x))";

export const ACTIVATIONS: Readonly<Record<Activation, ActivationRow>> = {
  none: { code: 0, onHost: (x) => x, value: "x", slope: "vec4<f32>(1.0)", slopeOf: "value", onnx: [] },
  tanh: {
    code: 1,
    onHost: Math.tanh,
    value: "keep_nan4(x, poly_tanh4(x))",
    slope: "1.0 - y * y",
    slopeOf: "value",
    onnx: [["Tanh", "$x"]],
  },
  relu: {
    code: 2,
    onHost: (x) => Math.max(0, x),
    value: "keep_nan4(x, max(x, vec4<f32>(0.0)))",
    slope: "select(vec4<f32>(0.0), vec4<f32>(1.0), y > vec4<f32>(0.0))",
    slopeOf: "value",
    onnx: [["Relu", "$x"]],
  },
  // Clevert et al. 2016, with alpha 1
  elu: {
    code: 3,
    onHost: (x) => (x < 0 ? Math.expm1(x) : x),
    value: "keep_nan4(x, select(x, poly_exp4(x) - 1.0, x < vec4<f32>(0.0)))",
    slope: "select(vec4<f32>(1.0), y + 1.0, y < vec4<f32>(0.0))",
    slopeOf: "value",
    onnx: [["Elu", "$x"]],
  },
  // Elfwing et al. 2018; also called swish
  silu: {
    code: 4,
    onHost: (x) => x * sigmoid(x),
    value: `keep_nan4(x, x * ${SIGMOID})`,
    slope: `${SIGMOID} * (1.0 + x * (1.0 - ${SIGMOID}))`,
    slopeOf: "argument",
    onnx: [
      ["Sigmoid", "$x"],
      ["Mul", "$x", "$0"],
    ],
  },
};

/** Whether the kernels keep the argument too, since the derivative does not follow from the value. */
export const keepsArgument = (activation: Activation): boolean => ACTIVATIONS[activation].slopeOf === "argument";

const rows = Object.values(ACTIVATIONS).filter(({ code }) => code !== ACTIVATIONS.none.code);
const cases = (of: (row: ActivationRow) => string): string =>
  rows.map((row) => `  if (activation == ${row.code}u) { return ${of(row)}; }\n`).join("");

/** WGSL: whether arguments are kept, behind the values of all rows. */
const KEEPS_WGSL = `fn keeps_argument(activation: u32) -> bool {
  return ${rows
    .filter(({ slopeOf }) => slopeOf === "argument")
    .map(({ code }) => `activation == ${code}u`)
    .join(" || ")};
}
`;

/** WGSL of the values. */
export const ACTIVATED_WGSL = `${KEEPS_WGSL}
fn activated(x: vec4<f32>, activation: u32) -> vec4<f32> {
${cases(({ value }) => value)}  return x;
}
`;

/** WGSL of the derivatives, of what was kept. */
export const SLOPE_WGSL = `${KEEPS_WGSL}
fn slope(kept: vec4<f32>, activation: u32) -> vec4<f32> {
  let x = kept;
  let y = kept;
${cases(({ slope }) => slope)}  return vec4<f32>(1.0);
}
`;
