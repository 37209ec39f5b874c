/**
 * How close a graph comes to the speed of its matrix products. The FLOPs of a graph are `2 m k n`
 * for every product [m, k] x [k, n] at its actual sizes, and 0 for everything else. The same
 * products run alone on onnxruntime: the difference is the cost of the other operations.
 */

import { traceJoint } from "../../src/encoder/joint-session.ts";
import { traceReading } from "../../src/encoder/retriever-session.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { positionBuckets } from "../../src/model/layers/relative-position.ts";
import type { Dim, Tensor } from "../../src/tensor/ops.ts";
import { compile, type Session } from "../../src/tensor/session.ts";
import { type Graph, trace, type Value } from "../../src/tensor/trace.ts";
import { median, Stopwatch } from "./timing.ts";

const REPETITIONS = 15;

/** A matrix product of a graph. */
export interface Product {
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** Whether the right side is a weight: onnxruntime packs weights in advance. */
  readonly weight: boolean;
}

export interface Comparison {
  readonly gigaflops: number;
  /** Of the products alone. */
  readonly plainGigaflops: number;
  /** Time of the products alone divided by the time of the graph. */
  readonly ratio: number;
}

/** The lower encoder layers over `batch` passages of `length` tokens, without the keys. */
export function compareLower(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  batch: number,
  length: number,
): Promise<Comparison> {
  const feeds = {
    ids: { data: new Int32Array(batch * length).fill(config.eosId), shape: [batch, length] },
    mask: { data: new Float32Array(batch * length).fill(1), shape: [batch, length] },
    buckets: positionBuckets(config, "encoder", length),
  };
  return compare(traceReading(config), { batch, length }, feeds, weights);
}

/** The upper encoder layers over `pairs` pairs of `length` tokens. */
export function compareUpper(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  pairs: number,
  length: number,
): Promise<Comparison> {
  const feeds = {
    states: random([pairs, length, config.modelSize]),
    mask: { data: new Float32Array(pairs * length).fill(1), shape: [pairs, length] },
    buckets: positionBuckets(config, "encoder", length),
  };
  return compare(traceJoint(config), { pairs, length }, feeds, weights);
}

/** `sizes` are of the graph's named axes. Both run alternately, so other load affects both. */
async function compare(
  graph: Graph,
  sizes: Readonly<Record<string, number>>,
  feeds: Readonly<Record<string, Tensor>>,
  weights: ReadonlyMap<string, Float32Array>,
): Promise<Comparison> {
  const products = productsOf(graph, sizes);
  await using whole = await compile(graph, { weights });
  await using plain = await openPlain(products);
  const watch = new Stopwatch();
  const runs = { whole: () => whole.run(feeds), plain: () => plain.run() };
  await runs.whole(); // the first run of a size allocates its memory
  await runs.plain();
  for (let i = 0; i < REPETITIONS; i++)
    for (const [name, run] of Object.entries(runs)) await watch.time(name, run);
  const [ofWhole, ofPlain] = [watch.times.get("whole")!, watch.times.get("plain")!];
  const flops = products.reduce((sum, product) => sum + flopsOf(product), 0);
  return {
    gigaflops: flops / median(ofWhole) / 1e6,
    plainGigaflops: flops / median(ofPlain) / 1e6,
    ratio: median(ofWhole.map((time, i) => ofPlain[i]! / time)),
  };
}

export function productsOf(graph: Graph, sizes: Readonly<Record<string, number>>): Product[] {
  const size = (dim: Dim): number => {
    const known = typeof dim === "number" ? dim : sizes[dim];
    if (known !== undefined) return known;
    const factors = `${dim}`.split("*"); // the name that the tracer gives to the axis of a product
    if (factors.length === 1) throw new Error(`the size of axis "${dim}" is not given`);
    return factors.reduce((product, factor) => product * (Number(factor) || size(factor)), 1);
  };
  const weights = new Set(graph.parameters.values());
  for (const { inputs, outputs } of graph.nodes)
    if (inputs.length > 0 && inputs.every((input) => weights.has(input))) weights.add(outputs[0]!);
  return graph.nodes
    .filter(({ operation }) => operation === "matmul")
    .map(({ inputs: [left, right] }) => ({
      left: left!.shape.map(size),
      right: right!.shape.map(size),
      weight: weights.has(right!),
    }));
}

/** `2 m k n`, times the number of matrices. */
export const flopsOf = ({ left, right }: Product): number =>
  2 * left.reduce((product, dim) => product * dim) * right.at(-1)!;

/**
 * The products alone. Products of one shape share a left side, as in a block, and have different
 * right sides, because onnxruntime computes equal products once. One value of each is an output.
 */
export async function openPlain(
  products: readonly Product[],
): Promise<{ run: () => Promise<unknown> } & AsyncDisposable> {
  const leftOf = (shape: readonly number[]): string => `left ${shape.join()}`;
  const feeds: Record<string, Tensor> = {};
  const weights = new Map<string, Float32Array>();
  for (const [i, { left, right, weight }] of products.entries()) {
    feeds[leftOf(left)] ??= random(left);
    if (weight) weights.set(`weight ${i}`, random(right).data as Float32Array);
    else feeds[`right ${i}`] = random(right);
  }
  const inputs = Object.fromEntries(
    Object.entries(feeds).map(([input, { shape }]) => [input, ["float32", ...shape] as const]),
  );
  const graph = trace(inputs, (ops, input) =>
    Object.fromEntries(
      products.map(({ left, right, weight }, i) => {
        const factor = weight ? ops.parameter(`weight ${i}`, right) : input[`right ${i}`]!;
        const product = ops.matmul(input[leftOf(left)]!, factor);
        const first = left.reduce<Value>((x, _, axis) => ops.slice(x, axis, 0, 1), product);
        return [`product ${i}`, first];
      }),
    ),
  );
  const session: Session = await compile(graph, { weights });
  return {
    run: () => session.run(feeds),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

function random(shape: readonly number[]): Tensor & { readonly data: Float32Array } {
  const data = new Float32Array(shape.reduce((product, dim) => product * dim));
  return { data: data.map(() => Math.random() - 0.5), shape };
}
