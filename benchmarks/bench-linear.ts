/**
 * Measures one linear layer, `x W^T` with a fixed W, in float32 and in the 8-bit variants that
 * onnxruntime's cpu provider has. One thread.
 *
 *     npm run bench:linear -- [--shapes INxOUT,...] [--rows N,...] [--runs N]
 *
 * The variants alternate, and each figure is the minimum of its runs: milliseconds of processor
 * time and the speed relative to float32 that is mapped, which means that onnxruntime does not pack
 * W. `error` is the relative RMS error for normal x and W.
 */

import "../src/tensor/no-telemetry.ts"; // before onnxruntime is loaded

import { parseArgs } from "node:util";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { quantiseLayer } from "../src/checkpoints/int8.ts";
import { createRandom } from "../src/math/random.ts";
import {
  ElementType,
  encodeModel,
  type OnnxConstant,
  type OnnxNode,
} from "../src/tensor/onnx-model.ts";

interface Layer {
  readonly rows: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: Float32Array;
}

const constant = (
  name: string,
  shape: readonly number[],
  data: Float32Array | Int8Array | Uint8Array,
): OnnxConstant => ({
  name,
  shape,
  type:
    data instanceof Float32Array
      ? ElementType.FLOAT
      : data instanceof Int8Array
        ? ElementType.INT8
        : ElementType.UINT8,
  values: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
});

const node = (
  opType: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, number> = {},
  domain = "",
): OnnxNode => ({ opType, domain, inputs, outputs, attributes });

const CONTRIB = "com.microsoft";

/** [rows, columns] -> [columns, rows] */
function transposed<A extends Float32Array | Int8Array>(data: A, rows: number): A {
  const columns = data.length / rows;
  const result = data.slice() as A;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) result[j * rows + i] = data[i * columns + j]!;
  return result;
}

interface Variant {
  readonly nodes: OnnxNode[];
  readonly constants: OnnxConstant[];
  readonly packed?: boolean;
}

/** A scale for each row of x, as in src/tensor/onnx-weights.ts. */
function rowwise({ inputs, outputs, weights }: Layer): Variant {
  const { values, scales } = quantiseLayer(weights, outputs);
  return {
    nodes: [
      node("Abs", ["x"], ["abs"]),
      node("ReduceMax", ["abs", "last"], ["largest"], { keepdims: 1 }),
      node("Mul", ["largest", "step"], ["scales"]),
      node("Reshape", ["scales", "last"], ["scale"]),
      node("Shape", ["scale"], ["count"]),
      node("Expand", ["middle", "count"], ["zeros"]),
      node("QuantizeLinear", ["x", "scale", "zeros"], ["q"], { axis: 0 }),
      node("MatMulIntegerToFloat", ["q", "w", "one", "s", "middle"], ["p"], {}, CONTRIB),
      node("Mul", ["p", "scales"], ["y"]),
    ],
    constants: [
      constant("w", [inputs, outputs], transposed(values, outputs)),
      constant("s", [outputs], scales),
      {
        name: "last",
        shape: [1],
        type: ElementType.INT64,
        values: new Uint8Array(BigInt64Array.of(-1n).buffer),
      },
      constant("step", [], Float32Array.of(1 / 127)),
      constant("one", [], Float32Array.of(1)),
      constant("middle", [], Uint8Array.of(128)),
    ],
  };
}

/** Blocks of weights and of x have their own scales. */
function blocked({ inputs, outputs, weights }: Layer, block: number): Variant {
  const blocks = Math.ceil(inputs / block);
  const { values, scales } = quantiseLayer(weights, outputs);
  const bytes = new Uint8Array(outputs * blocks * block).fill(128);
  for (let i = 0; i < outputs; i++)
    for (let j = 0; j < inputs; j++) bytes[i * blocks * block + j] = values[i * inputs + j]! + 128;
  const ofBlocks = Float32Array.from(
    { length: outputs * blocks },
    (_, i) => scales[Math.floor(i / blocks)]!,
  );
  return {
    nodes: [
      node(
        "MatMulNBits",
        ["x", "w", "s"],
        ["y"],
        { K: inputs, N: outputs, bits: 8, block_size: block, accuracy_level: 4 },
        CONTRIB,
      ),
    ],
    constants: [
      constant("w", [outputs, blocks, block], bytes),
      constant("s", [outputs * blocks], ofBlocks),
    ],
  };
}

const VARIANTS: Record<string, (layer: Layer) => Variant> = {
  "fp32 mapped": ({ outputs, inputs, weights }) => ({
    nodes: [node("FusedMatMul", ["x", "w"], ["y"], { transB: 1 }, CONTRIB)],
    constants: [constant("w", [outputs, inputs], weights)],
    packed: false,
  }),
  "fp32 packed": ({ outputs, inputs, weights }) => ({
    nodes: [node("MatMul", ["x", "w"], ["y"])],
    constants: [constant("w", [inputs, outputs], transposed(weights, outputs))],
  }),
  DynamicQuantizeMatMul: ({ outputs, inputs, weights }) => {
    const { values, scales } = quantiseLayer(weights, outputs);
    return {
      nodes: [node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], {}, CONTRIB)],
      constants: [
        constant("w", [inputs, outputs], transposed(values, outputs)),
        constant("s", [outputs], scales),
      ],
    };
  },
  "rows + MatMulIntegerToFloat": rowwise,
  "the same, mapped": (layer) => ({ ...rowwise(layer), packed: false }),
  "MatMulNBits 32": (layer) => blocked(layer, 32),
};

async function open(layer: Layer, name: string): Promise<InferenceSession> {
  const { nodes, constants, packed = true } = VARIANTS[name]!(layer);
  const type = ElementType.FLOAT;
  const model = encodeModel({
    nodes,
    constants,
    inputs: [{ name: "x", type, shape: ["row", layer.inputs] }],
    outputs: [{ name: "y", type, shape: ["row", layer.outputs] }],
  });
  return InferenceSession.create(model, {
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
    extra: { session: { disable_prepacking: packed ? "0" : "1" } },
  });
}

const relativeError = (got: Float32Array, expected: Float32Array): number => {
  let error = 0;
  let size = 0;
  expected.forEach((value, i) => {
    error += (value - got[i]!) ** 2;
    size += value ** 2;
  });
  return Math.sqrt(error / size);
};

async function measure(layer: Layer, x: Float32Array, runs: number): Promise<void> {
  const feeds = { x: new Tensor("float32", x, [layer.rows, layer.inputs]) };
  const sessions: [string, InferenceSession][] = [];
  for (const name of Object.keys(VARIANTS)) sessions.push([name, await open(layer, name)]);
  const best = new Map(sessions.map(([name]) => [name, Number.POSITIVE_INFINITY]));
  const outputs = new Map<string, Float32Array>();
  for (let run = 0; run < runs; run++)
    for (const [name, session] of sessions) {
      const start = process.cpuUsage();
      const { y } = await session.run(feeds);
      const { user, system } = process.cpuUsage(start);
      best.set(name, Math.min(best.get(name)!, (user + system) / 1000));
      outputs.set(name, y!.data as Float32Array);
    }
  const first = best.get("fp32 mapped")!;
  console.log(`\n[${layer.rows}, ${layer.inputs}] x [${layer.inputs}, ${layer.outputs}]`);
  for (const [name, time] of best) {
    const error = relativeError(outputs.get(name)!, outputs.get("fp32 mapped")!);
    const gflops = (2 * layer.rows * layer.inputs * layer.outputs) / time / 1e6;
    console.log(
      `${name.padEnd(30)} ${time.toFixed(2)} ms  ${(first / time).toFixed(2)}x  ${gflops.toFixed(0)} GFLOP/s  error ${(100 * error).toFixed(2)} %`,
    );
  }
  for (const [, session] of sessions) await session.release();
}

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "200,1000,2000" },
    shapes: { type: "string", default: "288x384,288x512,512x288,1024x1024,1024x2816,2816x1024" },
    runs: { type: "string", default: "15" },
  },
});
const random = createRandom("linear layer");
const normal = (count: number): Float32Array =>
  Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next()),
  );
for (const shape of values.shapes.split(",")) {
  const [inputs, outputs] = shape.split("x").map(Number) as [number, number];
  const weights = normal(inputs * outputs);
  for (const rows of values.rows.split(",").map(Number))
    await measure({ rows, inputs, outputs, weights }, normal(rows * inputs), Number(values.runs));
}
