/** The fingerprint of a model: an index belongs to all models with the same one. */

import { createHash } from "node:crypto";
import { bytesOf } from "../checkpoints/values.ts";
import { type ModelConfig, retrievalRows } from "./config.ts";
import { buildParameters, namesIn } from "./parameter-names.ts";

/** Changes with the normal form of texts (text/normal-form.ts): then the tokens are others. */
const TEXT_RULES = "normal form 1";
/** Changes with the rounding of activations (onnx-weights.ts): then the keys are others. */
const INTEGER_PRODUCTS = "integer products 1";

/**
 * SHA-256, in hexadecimal, of everything that determines the keys of passages: the embedding, the
 * backbone, the encoder blocks below `retrievalLayer` and their relative bias, the norm of that
 * layer, the key rows of the retrieval head (with pooling, of all heads), the values of the
 * configuration that these use, the tokenizer's file, and the rules by which texts enter it.
 *
 * The query projection, a query encoder and phrase queries are not included: an index stays valid
 * when only these are trained.
 *
 * @param parts the values of a weight by its name in the checkpoint, in any number of parts
 * @param options.integers whether products of the lower layers are computed with integers, which
 * rounds the activations. Default: false
 */
export async function fingerprint(
  config: ModelConfig,
  parts: (name: string) => AsyncIterable<Float32Array> | Iterable<Float32Array>,
  tokenizerBytes: Uint8Array,
  { integers = false }: { readonly integers?: boolean } = {},
): Promise<string> {
  const { embedding, encoder } = buildParameters(config, (name) => name);
  const { attentionNorm, attention } = encoder.blocks[config.retrievalLayer]!;
  const lower = encoder.blocks.slice(0, config.retrievalLayer).flatMap((block) => {
    const { kind: _, ...feedForward } = block.feedForward;
    const layers = [...Object.values(block.attention), ...Object.values(feedForward)];
    return [block.attentionNorm, block.feedForwardNorm, ...layers];
  });
  const hash = createHash("sha256").update(JSON.stringify(relevantValues(config)));
  if (integers) hash.update(INTEGER_PRODUCTS);
  const backbone = namesIn(encoder.backbone ?? {});
  for (const name of [embedding, ...backbone, encoder.relativeBias, ...lower, attentionNorm])
    for await (const part of parts(name)) hash.update(bytesOf(part));
  const rows = retrievalRows(config);
  const [first, end] = [rows[0] * config.modelSize, rows[1] * config.modelSize];
  let start = 0; // of the part, in the values of all heads
  for await (const part of parts(attention.key)) {
    hash.update(bytesOf(part.subarray(Math.max(0, first - start), Math.max(0, end - start))));
    start += part.length;
  }
  return hash.update(tokenizerBytes).update(TEXT_RULES).digest("hex");
}

/**
 * SHA-256, in hexadecimal, of everything that determines the states of passages for reading. That
 * is a part of what determines their keys, and the number of joint layers, which the keys do not
 * depend on: reading starts below these layers.
 *
 * @param ofKeys the `fingerprint` of the model
 */
export const statesFingerprint = ({ backbone }: ModelConfig, ofKeys: string): string =>
  createHash("sha256")
    .update(JSON.stringify([ofKeys, backbone?.jointLayers ?? 0]))
    .digest("hex");

/** An array, so that the fingerprint does not depend on property names. */
function relevantValues(config: ModelConfig): (number | string)[] {
  return [
    config.vocabularySize,
    config.modelSize,
    config.headSize,
    config.heads,
    config.feedForwardSize,
    config.feedForward,
    config.relativeBuckets,
    config.relativeMaxDistance,
    config.layerNormEpsilon,
    config.eosId,
    config.retrievalLayer,
    ...ofBackbone(config),
    ...(config.pooling === undefined
      ? [config.retrievalHead, ...notOfReAtt(config)]
      : [config.pooling, config.similarity ?? "dot"]),
  ];
}

/** Without the number of joint layers, which only read. */
function ofBackbone({ backbone }: ModelConfig): number[] {
  if (!backbone) return [];
  const { jointLayers: _, ...sizes } = backbone;
  return Object.values(sizes);
}

/** What token keys can have that those of ReAtt have not: nothing for models as in the paper. */
const notOfReAtt = ({ retrievalHeads, similarity }: ModelConfig): (number | string)[] => [
  ...(retrievalHeads === 1 ? [] : [retrievalHeads]),
  ...(similarity === "cosine" ? ["cosine"] : []),
];
