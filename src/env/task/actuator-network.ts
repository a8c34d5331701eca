// a small network as actuator (Hwangbo et al. 2019): errors and speeds of the last steps in, the force on the joint out
import { CorralError } from "../../core/errors.ts";
import { isHeld } from "../../core/float32.ts";
import { alternatives } from "../../core/names.ts";
import { optionsOf, unknownOption } from "../../core/options.ts";
import { inLine, show } from "../../core/show.ts";
import { decodeSafetensors } from "../../io/safetensors.ts";
import { array, loop, table } from "../../trace/control.ts";
import { exp, tanh } from "../../trace/math.ts";
import { abs, add, div, gt, max, mul, neg, select, sub, type Scalar } from "../../trace/scalar.ts";

/** What is done to the numbers between two layers. */
const ACTIVATIONS = {
  softsign: (x: Scalar) => div(x, add(1, abs(x))),
  tanh: (x: Scalar) => tanh(x),
  relu: (x: Scalar) => max(x, 0),
  elu: (x: Scalar) => select(gt(x, 0), x, sub(exp(select(gt(x, 0), 0, x)), 1)),
  silu: (x: Scalar) => div(x, add(1, exp(neg(x)))),
} as const satisfies Readonly<Record<string, (x: Scalar) => Scalar>>;

export interface ActuatorNetworkOptions {
  /** Between layers. Default "softsign". */
  readonly activation?: keyof typeof ACTIVATIONS;
  /** Of how many physics steps ago errors and speeds are, each at most 64. Default [0, 1, 2]. */
  readonly history?: readonly number[];
  /** Whether errors come before speeds. Default "errors-speeds". */
  readonly order?: "errors-speeds" | "speeds-errors";
  /** Factors of the error of position (control less position, rad or m) and of the speed, and of what comes out. Default 1. */
  readonly scale?: { readonly error?: number; readonly speed?: number; readonly force?: number };
}

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** Rows of outputs. */
  readonly weight: Float64Array;
  readonly bias: Float64Array;
}

/** Layers of a network, and what goes in. */
export interface ActuatorNetwork {
  readonly kind: "actuator-network";
  readonly layers: readonly Layer[];
  readonly activation: keyof typeof ACTIVATIONS;
  readonly history: readonly number[];
  readonly order: "errors-speeds" | "speeds-errors";
  readonly scale: { readonly error: number; readonly speed: number; readonly force: number };
}

const MOST_STEPS = 64;
const KNOWN = ["activation", "history", "order", "scale"];

export const isNetwork = (x: unknown): x is ActuatorNetwork =>
  (x as Partial<ActuatorNetwork> | null)?.kind === "actuator-network";

/** "net.10.weight" comes after "net.2.weight". */
const natural = new Intl.Collator("en", { numeric: true }).compare;

const bad = (text: string): CorralError =>
  new CorralError("bad-actuator-network", `the network of an actuator: ${text}.`);

/** @throws CorralError bad-safetensors, bad-actuator-network */
function layersOf(file: Uint8Array): Layer[] {
  const { tensors } = decodeSafetensors(file, "the network of an actuator");
  const names = [...tensors.keys()].filter((name) => name.endsWith("weight")).sort(natural);
  if (names.length === 0) throw bad('it has no tensors called "...weight"');
  const used = names.flatMap((name) => [name, name.replace(/weight$/, "bias")]);
  const other = [...tensors.keys()].find((name) => !used.includes(name));
  if (other !== undefined) throw bad(`"${inLine(other)}" is neither a weight nor the bias of one`);
  const layers = names.map((name): Layer => {
    const { shape, data } = tensors.get(name)!;
    if (shape.length !== 2 || shape.includes(0))
      throw bad(`${inLine(name)} has the shape [${shape.join(", ")}]; it is [outputs, inputs], at least 1 of each`);
    const [outputs, inputs] = shape;
    const bias = tensors.get(name.replace(/weight$/, "bias"));
    if (bias && bias.data.length !== outputs)
      throw bad(`the bias of ${inLine(name)} has ${bias.data.length} numbers; it has ${outputs} outputs`);
    const weight = Float64Array.from(data);
    const biases = bias ? Float64Array.from(bias.data) : new Float64Array(outputs);
    if (![...weight, ...biases].every((x) => isHeld(x)))
      throw bad(`${inLine(name)} has numbers that are not finite in float32`);
    return { inputs, outputs, weight, bias: biases };
  });
  layers.forEach(({ inputs }, i) => {
    const before = layers[i - 1]?.outputs ?? inputs;
    if (before !== inputs)
      throw bad(`${inLine(names[i])} takes ${inputs} numbers; the layer before it gives ${before}`);
  });
  if (layers.at(-1)!.outputs !== 1) throw bad(`it gives ${layers.at(-1)!.outputs} numbers; it gives one force`);
  return layers;
}

/**
 * A network for actuators of a task, from the bytes of a safetensors file with the weights of PyTorch's linear layers, in
 * the order of their names ("0.weight", "0.bias", "2.weight", ...). It gives the force on the joint (N m, N).
 * @throws CorralError bad-safetensors, bad-actuator-network
 */
export function actuatorNetwork(file: Uint8Array, options: ActuatorNetworkOptions = {}): ActuatorNetwork {
  if (!(file instanceof Uint8Array)) throw bad(`its weights are ${show(file)}; pass the bytes of a safetensors file`);
  const other = Object.keys(optionsOf(options)).find((name) => !KNOWN.includes(name));
  if (other !== undefined) throw bad(`it has no option "${other}"; ${alternatives(other, KNOWN).hint}`);
  const { activation = "softsign", history = [0, 1, 2], order = "errors-speeds", scale = {} } = options;
  if (!Object.hasOwn(ACTIVATIONS, activation))
    throw bad(`activation is ${show(activation)}; it is one of ${Object.keys(ACTIVATIONS).join(", ")}`);
  const isStep = (k: unknown) => Number.isInteger(k) && (k as number) >= 0 && (k as number) <= MOST_STEPS;
  if (!Array.isArray(history) || history.length === 0 || !history.every(isStep))
    throw bad(`history is ${show(history)}; it is a list of physics steps from 0 to ${MOST_STEPS}`);
  if (order !== "errors-speeds" && order !== "speeds-errors")
    throw bad(`order is ${show(order)}; it is "errors-speeds" or "speeds-errors"`);
  if (typeof scale !== "object" || scale === null || Array.isArray(scale))
    throw bad(`scale is ${show(scale)}; it has finite numbers error, speed and force`);
  const factors = { error: 1, speed: 1, force: 1, ...scale };
  const wrong = Object.entries(factors).find(
    ([name, x]) => !["error", "speed", "force"].includes(name) || !Number.isFinite(x) || !isHeld(x),
  );
  if (wrong) throw bad(`scale has ${wrong[0]}: ${show(wrong[1])}; it has finite numbers error, speed and force`);
  const layers = layersOf(file);
  if (layers[0].inputs !== 2 * history.length)
    throw bad(
      `it takes ${layers[0].inputs} numbers; a history of ${history.length} steps has ${2 * history.length}, an error and a speed each`,
    );
  return { kind: "actuator-network", layers, activation, history, order, scale: factors };
}

export interface ServoGains {
  /** Force for each radian or metre between control and position (N m/rad, N/m). */
  readonly stiffness: number;
  /** Force against each rad/s or m/s. Default 0. */
  readonly damping?: number;
}

/**
 * A servo of position made of a `motor`: in each physics step its force is that of a spring to the control and a damper, as
 * a network of one layer. Its `ctrlrange` bounds the force.
 * @throws CorralError bad-actuator-network
 */
export function servo(gains: ServoGains): ActuatorNetwork {
  const { stiffness, damping = 0, ...others } = optionsOf(gains, "gains of a servo");
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw unknownOption("a servo", unknown, ["stiffness", "damping"]);
  for (const [name, x] of Object.entries({ stiffness, damping }))
    if (!Number.isFinite(x) || x < 0)
      throw bad(`${name} of a servo is ${show(x)}; it is a finite number of at least 0`);
  const layer = { inputs: 2, outputs: 1, weight: Float64Array.of(stiffness, -damping), bias: new Float64Array(1) };
  const scale = { error: 1, speed: 1, force: 1 };
  return { kind: "actuator-network", layers: [layer], activation: "relu", history: [0], order: "errors-speeds", scale };
}

/** The forces of several actuators with one network, of their inputs. Loops, since the weights are many. */
export function networkForces(net: ActuatorNetwork, inputs: readonly (readonly Scalar[])[]): Scalar[] {
  const width = net.layers[0].inputs;
  const given = array("net_inputs", inputs.length * width);
  inputs.flat().forEach((x, i) => given.set(i, x));
  const hidden = net.layers.map(({ outputs }, l) => array(`net_layer${l}`, outputs));
  const sum = array("net_sum", 1);
  const forces = array("net_forces", inputs.length);
  loop(inputs.length, (a) => {
    net.layers.forEach(({ inputs: fanIn, outputs, weight, bias }, l) => {
      const [weights, biases] = [table(`net_weight${l}`, weight), table(`net_bias${l}`, bias)];
      const last = l === net.layers.length - 1;
      loop(outputs, (o) => {
        sum.set(0, biases(o));
        loop(fanIn, (i) => {
          const x = l === 0 ? given.get(add(mul(a, width), i)) : hidden[l - 1].get(i);
          sum.set(0, add(sum.get(0), mul(weights(add(mul(o, fanIn), i)), x)));
        });
        hidden[l].set(o, last ? sum.get(0) : ACTIVATIONS[net.activation](sum.get(0)));
      });
    });
    forces.set(a, mul(hidden.at(-1)!.get(0), net.scale.force));
  });
  return inputs.map((_, a) => forces.get(a));
}
