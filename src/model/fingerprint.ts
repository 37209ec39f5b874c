/** The fingerprint of a model: an index belongs to all models with the same one. */

import { createHash } from "node:crypto";
import { bytesOf } from "../checkpoints/values.ts";
import { type ModelConfig, retrievalRows, retrievalWidth } from "./config.ts";
import { namesIn, parameterNames } from "./parameter-names.ts";
import { countLayers } from "./stack.ts";
import { type T5File, toT5File } from "./t5-form.ts";

/** Changes with the normal form of texts (text/normal-form.ts): then the tokens are others. */
const TEXT_RULES = "normal form 1";
/** Changes with the rounding of activations (onnx-weights.ts): then the keys are others. */
const INTEGER_PRODUCTS = "integer products 1";

/**
 * SHA-256, in hexadecimal, of everything that determines the keys of passages: the embedding, the
 * shared and the retrieval layers, the norm and the key rows of the retrieval heads (with pooling,
 * of all heads), the values of the configuration that these use, the tokenizer's file, and the
 * rules by which texts enter it.
 *
 * The query projection, a query encoder and phrase queries are not included: an index stays valid
 * when only these are trained.
 *
 * @param parts the values of a weight by its name, in any number of parts
 * @param options.integers whether products of the lower layers are computed with integers, which
 * rounds the activations. Default: false
 */
export async function fingerprint(
  config: ModelConfig,
  parts: (name: string) => AsyncIterable<Float32Array> | Iterable<Float32Array>,
  tokenizerBytes: Uint8Array,
  { integers = false }: { readonly integers?: boolean } = {},
): Promise<string> {
  const { heads } = parameterNames(config);
  const hash = createHash("sha256").update(JSON.stringify(relevantValues(config)));
  if (integers) hash.update(INTEGER_PRODUCTS);
  for (const name of namesBelowHeads(config))
    for await (const part of parts(name)) hash.update(bytesOf(part));
  for (const { name, columns } of [
    { name: heads.key.weight, columns: retrievalWidth(config) },
    ...(heads.key.bias ? [{ name: heads.key.bias, columns: 1 }] : []),
  ]) {
    const [first, end] = retrievalRows(config).map((row) => row * columns) as [number, number];
    let start = 0; // of the part, in the values of all heads
    for await (const part of parts(name)) {
      hash.update(bytesOf(part.subarray(Math.max(0, first - start), Math.max(0, end - start))));
      start += part.length;
    }
  }
  return hash.update(tokenizerBytes).update(TEXT_RULES).digest("hex");
}

/** All that a fingerprint depends on but the weights and the tokenizer's file. */
export const fingerprintRules = (
  config: ModelConfig,
  { integers }: { readonly integers: boolean },
): readonly unknown[] => [relevantValues(config), integers, INTEGER_PRODUCTS, TEXT_RULES];

/**
 * Names of the weights below the projections of the heads, which the fingerprint has. The table of
 * relative positions of the heads' stack is one of them, whether or not a layer below the heads
 * uses it: so it was from the beginning.
 */
export function namesBelowHeads(config: ModelConfig): Set<string> {
  const { embedding, shared, retrieval, joint, heads } = parameterNames(config);
  const { retrievalAttention: attention } = config;
  const ofHeads = attention.from === "joint" ? joint[attention.stack] : undefined;
  const table = ofHeads && "relativeBias" in ofHeads ? ofHeads.relativeBias : undefined;
  return new Set(namesIn({ embedding, shared, retrieval, table, norm: heads.norm }));
}

/**
 * SHA-256, in hexadecimal, of everything that determines the states of passages for reading. That
 * is a part of what determines their keys, and the number of retrieval layers: reading starts below
 * these.
 *
 * @param ofKeys the `fingerprint` of the model
 */
export const statesFingerprint = ({ retrieval }: ModelConfig, ofKeys: string): string =>
  createHash("sha256")
    .update(JSON.stringify([ofKeys, countLayers(retrieval)]))
    .digest("hex");

/** An array, so that the fingerprint does not depend on the names or the order of keys. */
function relevantValues(config: ModelConfig): unknown[] {
  const file = toT5File(config);
  if (file) return valuesOfT5(file);
  const { vocabularySize, modelSize, eosId, relativeBuckets, relativeMaxDistance } = config;
  const layers = [config.shared, config.retrieval].map((stacks) => stacks.map(sorted));
  const { from, pooling, similarity } = config.retrievalAttention;
  const numbers = [vocabularySize, modelSize, eosId, relativeBuckets, relativeMaxDistance];
  const heads = [from, ...retrievalRows(config), pooling ?? "tokens", similarity ?? "dot"];
  const { title, text, untitled } = config.prompts ?? {};
  return [...numbers, layers, heads, ...(config.prompts ? [[title, text, untitled]] : [])];
}

const sorted = (stack: object): unknown[] =>
  Object.entries(stack).sort(([a], [b]) => (a < b ? -1 : 1));

/** Those of a model that this form can describe: indexes of before stay valid. */
function valuesOfT5(file: T5File): unknown[] {
  const { retrieval_similarity: similarity = "dot" } = file;
  return [
    file.vocab_size,
    file.d_model,
    file.d_kv,
    file.num_heads,
    file.d_ff,
    file.feed_forward_proj,
    file.relative_attention_num_buckets,
    file.relative_attention_max_distance,
    file.layer_norm_epsilon,
    file.eos_token_id,
    file.retrieval_layer,
    ...(file.retrieval_pooling
      ? [file.retrieval_pooling, similarity]
      : [
          file.retrieval_head,
          ...(file.retrieval_heads === 1 ? [] : [file.retrieval_heads]),
          ...(similarity === "cosine" ? [similarity] : []),
        ]),
  ];
}
