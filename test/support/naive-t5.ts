/**
 * T5 with ReAtt's masks in plain float64 loops, written from the papers without code from src.
 * Question and passage pass through every layer together, the decoder processes all positions at
 * once, and nothing is cached.
 */

import type { ModelConfig } from "../../src/model/config.ts";
import { countLayers, type Stack } from "../../src/model/stack.ts";
import { referenceNames } from "./reference-names.ts";

/** Rows of values. */
export type Matrix = readonly (readonly number[])[];

export interface NaiveT5 {
  /**
   * States of [question ; passage] before block B, as retrieval uses them. Question and passage do
   * not attend to each other.
   */
  lower(question: readonly number[], passage: readonly number[]): Matrix;
  /** The same as the upper layers read them: below the joint layers, if the model has any. */
  reading(question: readonly number[], passage: readonly number[]): Matrix;
  /** The encoder outputs of [question ; passage] that the decoder attends to. */
  encode(question: readonly number[], passage: readonly number[]): Matrix;
  /** The query vectors or keys of the retrieval head for states before block B. */
  retrieval(projection: "q" | "k", states: Matrix): Matrix;
  /**
   * Logits after each of `ids`, the last block's cross-attention scores [head][position][token of
   * `memory`], and the gate of each position if the model copies. `relevances`: a term of the
   * scores of each token of `memory`, by default 0.
   */
  decode(
    ids: readonly number[],
    memory: Matrix,
    relevances?: readonly number[],
  ): { logits: Matrix; crossScores: readonly Matrix[]; gates: readonly number[] | undefined };
}

/** A T5, perhaps above BERT's layers, in the numbers of T5. */
type T5 = ReturnType<typeof t5Of>;
type Backbone = NonNullable<T5["backbone"]>;

function t5Of({ shared, retrieval, joint, decoder, retrievalAttention, ...model }: ModelConfig) {
  const of = (kind: Stack["kind"], stacks: readonly Stack[]): number =>
    countLayers(stacks.filter((stack) => stack.kind === kind));
  const [first] = shared;
  const retrievalLayer = of("t5", [...shared, ...retrieval]);
  return {
    modelSize: model.modelSize,
    headSize: decoder.headSize,
    heads: decoder.heads,
    feedForward: decoder.feedForward,
    encoderLayers: retrievalLayer + of("t5", joint),
    decoderLayers: decoder.layers,
    relativeBuckets: model.relativeBuckets,
    relativeMaxDistance: model.relativeMaxDistance,
    layerNormEpsilon: decoder.layerNormEpsilon,
    retrievalLayer,
    retrievalHead: (retrievalAttention as { readonly head?: number }).head ?? 0,
    tied: model.tied,
    copying: decoder.copying,
    backbone:
      first?.kind === "bert"
        ? {
            layers: of("bert", [...shared, ...retrieval]),
            heads: first.heads,
            layerNormEpsilon: first.layerNormEpsilon,
            jointLayers: of("bert", joint),
          }
        : undefined,
  };
}

/** @param named the weights by our names */
export function naiveT5(model: ModelConfig, named: ReadonlyMap<string, Float32Array>): NaiveT5 {
  const config = t5Of(model);
  const { headSize, heads } = config;
  const names = referenceNames(model);
  const weights = new Map([...named].map(([name, values]) => [names.get(name) ?? name, values]));

  function matrix(name: string, columns: number): Matrix {
    const numbers = weights.get(`${name}.weight`)!;
    return range(numbers.length / columns).map((row) => [
      ...numbers.subarray(row * columns, (row + 1) * columns),
    ]);
  }

  const embedding = matrix("shared", config.modelSize);
  const output = config.tied ? embedding : matrix("lm_head", config.modelSize);

  /** Applies a linear layer [out, in] to every row. */
  function linear(name: string, x: Matrix): Matrix {
    const rows = matrix(name, x[0]!.length);
    return x.map((input) => rows.map((row) => dot(row, input)));
  }

  function norm(name: string, x: Matrix): Matrix {
    const [weight] = matrix(name, config.modelSize);
    return x.map((row) => {
      const size = Math.sqrt(dot(row, row) / row.length + config.layerNormEpsilon);
      return row.map((value, i) => (value / size) * weight![i]!);
    });
  }

  /** Adds `bias(head, query, key)` to the scores. A bias of minus infinity masks a key. */
  function attention(
    layer: string,
    x: Matrix,
    memory: Matrix,
    bias: (head: number, query: number, key: number) => number,
  ) {
    const [q, k, v] = [
      linear(`${layer}.q`, x),
      linear(`${layer}.k`, memory),
      linear(`${layer}.v`, memory),
    ];
    const scores = range(heads).map((head) =>
      q.map((query, i) =>
        k.map((key, j) => dot(part(query, head), part(key, head)) + bias(head, i, j)),
      ),
    );
    const contexts = x.map((_, i) =>
      range(heads).flatMap((head) => {
        const shares = softmax(scores[head]![i]!);
        return range(headSize).map((at) =>
          dot(
            shares,
            v.map((value) => part(value, head)[at]!),
          ),
        );
      }),
    );
    return { output: linear(`${layer}.o`, contexts), scores };
  }

  const part = (row: readonly number[], head: number) =>
    row.slice(head * headSize, (head + 1) * headSize);

  function feedForward(layer: string, x: Matrix): Matrix {
    if (config.feedForward !== "gated-gelu") {
      const activation =
        config.feedForward === "relu" ? (value: number) => Math.max(value, 0) : gelu;
      const inner = linear(`${layer}.wi`, x);
      return linear(
        `${layer}.wo`,
        inner.map((row) => row.map(activation)),
      );
    }
    const inner = linear(`${layer}.wi_1`, x);
    const gated = linear(`${layer}.wi_0`, x).map((row, i) =>
      row.map((value, j) => gelu(value) * inner[i]![j]!),
    );
    return linear(`${layer}.wo`, gated);
  }

  function positionBias(stack: "encoder" | "decoder") {
    const table = matrix(`${stack}.block.0.layer.0.SelfAttention.relative_attention_bias`, heads);
    return (head: number, query: number, key: number): number =>
      table[bucket(config, stack, key - query)]![head]!;
  }

  /** States after `blocks` encoder blocks. */
  function encoderStates(
    question: readonly number[],
    passage: readonly number[],
    blocks: number,
  ): Matrix {
    const position = positionBias("encoder");
    const isQuestion = (i: number): boolean => i < question.length;
    const isJoint = blocks > config.retrievalLayer;
    let x: Matrix = config.backbone
      ? naiveBertBlocks(
          config.backbone,
          weights,
          isJoint ? blockNames("joint", config.backbone.jointLayers) : [],
          aloneInBackbone(config.backbone, question, passage, isJoint),
        )
      : [...question, ...passage].map((id) => embedding[id]!);
    for (const n of range(blocks)) {
      const block = `encoder.block.${n}`;
      const normed = norm(`${block}.layer.0.layer_norm`, x);
      const own = attention(`${block}.layer.0.SelfAttention`, normed, normed, (head, i, j) =>
        n >= config.retrievalLayer || isQuestion(i) === isQuestion(j)
          ? position(head, i, j)
          : Number.NEGATIVE_INFINITY,
      );
      x = add(x, own.output);
      x = add(
        x,
        feedForward(`${block}.layer.1.DenseReluDense`, norm(`${block}.layer.1.layer_norm`, x)),
      );
    }
    return x;
  }

  /** States of the backbone: after all layers, or below those that joint layers stand for. */
  function aloneInBackbone(
    backbone: Backbone,
    question: readonly number[],
    passage: readonly number[],
    isBelowJoint: boolean,
  ): Matrix {
    const blocks = blockNames(
      "encoder",
      backbone.layers - Number(isBelowJoint) * backbone.jointLayers,
    );
    return [question, passage].flatMap((ids) =>
      naiveBertBlocks(
        ...([backbone, weights, blocks] as const),
        bertEmbeddings(backbone, weights, ids, embedding, "backbone.embeddings"),
      ),
    );
  }

  const blockNames = (part: "encoder" | "joint", count: number): string[] =>
    range(count).map((n) => `backbone.${part}.layer.${n}`);

  return {
    lower: (question, passage) => encoderStates(question, passage, config.retrievalLayer),
    reading: (question, passage) =>
      config.backbone && config.backbone.jointLayers > 0
        ? aloneInBackbone(config.backbone, question, passage, true)
        : encoderStates(question, passage, config.retrievalLayer),
    encode: (question, passage) =>
      norm("encoder.final_layer_norm", encoderStates(question, passage, config.encoderLayers)),
    retrieval(projection, states) {
      const layer = `encoder.block.${config.retrievalLayer}.layer.0`;
      const vectors = linear(
        `${layer}.SelfAttention.${projection}`,
        norm(`${layer}.layer_norm`, states),
      );
      return vectors.map((row) => part(row, config.retrievalHead));
    },
    decode(ids, memory, relevances = memory.map(() => 0)) {
      const position = positionBias("decoder");
      let crossScores: readonly Matrix[] = [];
      let x: Matrix = ids.map((id) => embedding[id]!);
      for (const n of range(config.decoderLayers)) {
        const block = `decoder.block.${n}`;
        const normed = norm(`${block}.layer.0.layer_norm`, x);
        const own = attention(`${block}.layer.0.SelfAttention`, normed, normed, (head, i, j) =>
          j <= i ? position(head, i, j) : Number.NEGATIVE_INFINITY,
        );
        x = add(x, own.output);
        const crossNormed = norm(`${block}.layer.1.layer_norm`, x);
        const cross = attention(
          `${block}.layer.1.EncDecAttention`,
          crossNormed,
          memory,
          (_head, _i, j) => relevances[j]!,
        );
        crossScores = cross.scores;
        x = add(x, cross.output);
        x = add(
          x,
          feedForward(`${block}.layer.2.DenseReluDense`, norm(`${block}.layer.2.layer_norm`, x)),
        );
      }
      const scale = config.tied ? 1 / Math.sqrt(config.modelSize) : 1;
      const states = norm("decoder.final_layer_norm", x);
      return {
        logits: states.map((row) => output.map((token) => scale * dot(token, row))),
        crossScores,
        gates: config.copying
          ? linear("decoder.copy_gate", states).map(([gate]) => 1 / (1 + Math.exp(-gate!)))
          : undefined,
      };
    },
  };
}

type BertSizes = Pick<Backbone, "heads" | "layerNormEpsilon">;
type Weights = ReadonlyMap<string, Float32Array>;

/** A layer [out, in] with a bias, applied to every row. */
export function affine(weights: Weights, name: string, x: Matrix): Matrix {
  const weight = [...weights.get(`${name}.weight`)!];
  const inputs = x[0]!.length;
  return x.map((row) =>
    [...weights.get(`${name}.bias`)!].map(
      (b, i) => b + dot(weight.slice(i * inputs, (i + 1) * inputs), row),
    ),
  );
}

function layerNorm(
  { layerNormEpsilon }: BertSizes,
  weights: Weights,
  name: string,
  x: Matrix,
): Matrix {
  const [weight, bias] = [weights.get(`${name}.weight`)!, weights.get(`${name}.bias`)!];
  return x.map((row) => {
    const centred = row.map((value) => value - sum(row) / row.length);
    const deviation = Math.sqrt(dot(centred, centred) / row.length + layerNormEpsilon);
    return centred.map((value, i) => (value / deviation) * weight[i]! + bias[i]!);
  });
}

/** Devlin et al. 2019: the input of the first layer, with the first token at position 0. */
export function bertEmbeddings(
  sizes: BertSizes,
  weights: Weights,
  ids: readonly number[],
  embedding: Matrix,
  prefix: string,
): Matrix {
  const positions = weights.get(`${prefix}.position_embeddings.weight`)!;
  const sums = ids.map((id, at) =>
    embedding[id]!.map((value, i, row) => value + positions[at * row.length + i]!),
  );
  return layerNorm(sizes, weights, `${prefix}.LayerNorm`, sums);
}

/** Devlin et al. 2019: BERT's layers with these names, one after the other. */
export function naiveBertBlocks(
  sizes: BertSizes,
  weights: Weights,
  layers: readonly string[],
  states: Matrix,
): Matrix {
  const { heads } = sizes;
  let x = states;
  const headSize = x[0]!.length / heads;
  for (const layer of layers) {
    const [q, k, v] = ["query", "key", "value"].map((part) =>
      affine(weights, `${layer}.attention.self.${part}`, x),
    ) as [Matrix, Matrix, Matrix];
    const contexts = q.map((query) =>
      range(heads).flatMap((head) => {
        const own = (row: readonly number[]) => row.slice(head * headSize, (head + 1) * headSize);
        const shares = softmax(k.map((key) => dot(own(query), own(key)) / Math.sqrt(headSize)));
        return range(headSize).map((i) =>
          dot(
            shares,
            v.map((value) => own(value)[i]!),
          ),
        );
      }),
    );
    const attended = affine(weights, `${layer}.attention.output.dense`, contexts);
    const y = layerNorm(sizes, weights, `${layer}.attention.output.LayerNorm`, add(x, attended));
    const inner = affine(weights, `${layer}.intermediate.dense`, y).map((row) => row.map(gelu));
    const out = affine(weights, `${layer}.output.dense`, inner);
    x = layerNorm(sizes, weights, `${layer}.output.LayerNorm`, add(y, out));
  }
  return x;
}

/** See et al. 2017, Eq. 9, for the last position: what is written and what is copied of `ids`. */
export function naiveProbabilities(
  { logits, crossScores, gates }: ReturnType<NaiveT5["decode"]>,
  ids: readonly number[],
): number[] {
  const written = softmax(logits.at(-1)!);
  if (gates === undefined) return written;
  const gate = gates.at(-1)!;
  const shares = crossScores.map((scores) => softmax(scores.at(-1)!));
  return written.map((probability, token) => {
    const copied = shares.map((row) => sum(row.filter((_, j) => ids[j] === token)));
    return (1 - gate) * probability + (gate * sum(copied)) / copied.length;
  });
}

/**
 * The target attention (ReAtt, section 3.1) of passages that have `lengths` tokens in memory,
 * question copies included.
 */
export function naiveTargetAttention(
  crossScores: readonly Matrix[],
  lengths: readonly number[],
): number[] {
  const shares = crossScores.map(([first]) => softmax(first!));
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return sum(shares.map((row) => sum(row.slice(start - length, start)))) / shares.length;
  });
}

/**
 * Raffel et al. 2020, 2.1: half of the buckets for one distance each, half spread logarithmically.
 */
function bucket(config: T5, stack: "encoder" | "decoder", distance: number): number {
  const buckets = stack === "encoder" ? config.relativeBuckets / 2 : config.relativeBuckets;
  const first = stack === "encoder" && distance > 0 ? buckets : 0;
  const length = Math.abs(distance);
  const single = buckets / 2;
  if (length < single) return first + length;
  const share = Math.log(length / single) / Math.log(config.relativeMaxDistance / single);
  return first + Math.min(buckets - 1, Math.floor(single + share * (buckets - single)));
}

export const softmax = (row: readonly number[]): number[] => {
  const largest = Math.max(...row);
  const exponentials = row.map((value) => Math.exp(value - largest));
  return exponentials.map((value) => value / sum(exponentials));
};

const gelu = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (row: readonly number[]): number => row.reduce((total, value) => total + value, 0);
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((total, value, i) => total + value * b[i]!, 0);
const add = (a: Matrix, b: Matrix): Matrix =>
  a.map((row, i) => row.map((value, j) => value + b[i]![j]!));
