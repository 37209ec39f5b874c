/**
 * Layers of BERT (Devlin et al. 2019, https://arxiv.org/abs/1810.04805): absolute positions,
 * biases, and the norm after each part. Many encoders that were pretrained for search are of this
 * kind (Reimers and Gurevych 2019, Sentence-BERT).
 *
 * GELU is its tanh approximation unless the stack says `gelu`. They differ by less than 5e-4.
 */

import type { Ops } from "../../tensor/ops.ts";
import { affineLeaf, type Leaf, normLeaf } from "../leaf.ts";
import type { AffineParameters, BertLayer } from "../parameters.ts";
import type { StackOf } from "../stack.ts";
import {
  attentionScores,
  layerNorm,
  maskBias,
  meanValues,
  project,
  projectToHeads,
} from "./attention.ts";
import type { LayerContext } from "./context.ts";
import type { LayerKind } from "./layer-kind.ts";

type Sizes = StackOf<"bert">;

/** `initializer_range` of `BertConfig`. */
const DEVIATION = 0.02;

export const BERT: LayerKind<"bert"> = {
  parameters(sizes, leaf, { stack, widthBefore }) {
    const { layers, positions } = sizes;
    const table = `${stack}.embeddings.position_embeddings.weight`;
    return {
      sizes,
      ...(positions !== undefined && {
        embeddings: {
          positions: leaf(table, [positions, widthBefore], DEVIATION),
          norm: normLeaf(leaf, `${stack}.embeddings.LayerNorm`, widthBefore),
        },
      }),
      layers: Array.from({ length: layers }, (_, n) =>
        layerLeaves(leaf, `${stack}.layer.${n}`, sizes),
      ),
    };
  },
  /** The position of a token is the number of tokens before it. */
  embed({ ops, dropout }, { sizes, embeddings }, words, mask) {
    if (embeddings === undefined) return dropout(words);
    const positions = ops.gather(embeddings.positions, ops.sumBefore(mask));
    const sum = ops.add(words, positions);
    return dropout(layerNorm(ops, embeddings.norm, sum, sizes.layerNormEpsilon));
  },
  run(context, { sizes, layers }, x, { mask }) {
    const bias = maskBias(context.ops, mask);
    return layers.reduce((states, layer) => bertLayer(context, sizes, layer, states, bias), x);
  },
  heads: ({ sizes, layers: [first] }) => ({ sizes, ...queryAndKey(first!) }),
  normed: () => [], // the sum of a part with its input reads each norm as well
};

const queryAndKey = <T>({ attention: { query, key } }: BertLayer<T>) => ({ query, key });

function layerLeaves<T>(leaf: Leaf<T>, name: string, sizes: Sizes): BertLayer<T> {
  const { width, heads, headSize, feedForwardSize } = sizes;
  const inHeads = heads * headSize;
  const affine = (part: string, shape: [number, number]): AffineParameters<T> =>
    affineLeaf(leaf, `${name}.${part}`, shape, DEVIATION);
  return {
    attention: {
      query: affine("attention.self.query", [inHeads, width]),
      key: affine("attention.self.key", [inHeads, width]),
      value: affine("attention.self.value", [inHeads, width]),
      output: affine("attention.output.dense", [width, inHeads]),
    },
    attentionNorm: normLeaf(leaf, `${name}.attention.output.LayerNorm`, width),
    inner: affine("intermediate.dense", [feedForwardSize, width]),
    outer: affine("output.dense", [width, feedForwardSize]),
    outerNorm: normLeaf(leaf, `${name}.output.LayerNorm`, width),
  };
}

/** `y = norm(x + attention(x)); norm(y + feedForward(y))` */
function bertLayer<T>(
  { ops, dropout }: LayerContext<T>,
  sizes: Sizes,
  layer: BertLayer<T>,
  x: T,
  bias: T,
): T {
  const normed = (norm: AffineParameters<T>, a: T, b: T): T =>
    layerNorm(ops, norm, ops.add(a, dropout(b)), sizes.layerNormEpsilon);
  const y = normed(layer.attentionNorm, x, selfAttention(ops, layer, x, bias, sizes));
  const hidden = project(ops, layer.inner, y);
  const inner = sizes.activation === "gelu" ? gelu(ops, hidden) : ops.geluTanh(hidden);
  return normed(layer.outerNorm, y, project(ops, layer.outer, inner));
}

/** `x / 2 * (1 + erf(x / sqrt(2)))` */
const gelu = <T>(ops: Ops<T>, x: T): T => {
  const above = ops.add(ops.erf(ops.multiply(x, ops.scalar(Math.SQRT1_2))), ops.scalar(1));
  return ops.multiply(ops.multiply(x, ops.scalar(0.5)), above);
};

function selfAttention<T>(
  ops: Ops<T>,
  { attention }: BertLayer<T>,
  x: T,
  bias: T,
  sizes: Sizes,
): T {
  const [query, key, value] = [attention.query, attention.key, attention.value].map((layer) =>
    projectToHeads(ops, layer, x, sizes),
  ) as [T, T, T];
  const scaled = ops.multiply(attentionScores(ops, query, key), ops.scalar(sizes.headSize ** -0.5));
  return project(ops, attention.output, meanValues(ops, ops.add(scaled, bias), value, sizes));
}
