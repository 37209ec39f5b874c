import * as assert from "uvu/assert";
import type { Dim, Tensor } from "../../src/tensor/ops.ts";
import { type CompileOptions, compile } from "../../src/tensor/session.ts";
import { type Signature, trace } from "../../src/tensor/trace.ts";
import type { Evaluate } from "./conform-ops.ts";

/** Describes every axis by its size. */
export const knownSize = (size: number): Dim => size;

/** Describes every axis by a name that axes of one size share. Keeps 1, since it broadcasts. */
export const namedSize = (size: number): Dim => (size === 1 ? 1 : `size${size}`);

/** Traces a program with axes described by `dim`, and runs it with onnxruntime. */
export const onOnnxruntime =
  (dim: (size: number) => Dim, options: CompileOptions): Evaluate =>
  async (program, inputs) => {
    const names = inputs.map((_, i) => `x${i}`);
    const signatures = Object.fromEntries(
      inputs.map((input, i) => [names[i]!, signature(input, dim)]),
    );
    const graph = trace(signatures, (ops, given) => ({
      result: program(ops, ...names.map((name) => given[name]!)),
    }));
    await using session = await compile(graph, options);
    const feeds = Object.fromEntries(inputs.map((input, i) => [names[i]!, input]));
    const { result } = await session.run<"result">(feeds);
    const traced = graph.outputs.get("result")!.shape;
    if (traced.every((size) => typeof size === "number"))
      assert.equal([...traced], [...result.shape], "the traced shape");
    return result;
  };

export const signature = ({ data, shape }: Tensor, dim: (size: number) => Dim): Signature => [
  data instanceof Float32Array ? "float32" : "int32",
  ...shape.map(dim),
];
