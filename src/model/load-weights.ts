/** Loads the weights that a config.json asks for, and refuses a checkpoint that does not fit it. */

import { openWeights } from "../checkpoints/open.ts";
import { bytesOf } from "../checkpoints/values.ts";
import type { WeightFile } from "../checkpoints/weight-file.ts";
import { InputError } from "../io/errors.ts";
import type { ModelConfig } from "./config.ts";
import { isOfQueryEncoder, parameterShapes } from "./parameter-names.ts";

/** Where else a checkpoint may hold the embedding: in place of `shared.weight`, or as copies of it. */
const EMBEDDING_COPIES: readonly string[] = [
  "encoder.embed_tokens.weight",
  "decoder.embed_tokens.weight",
];
const TIED_EMBEDDING_COPIES: readonly string[] = [...EMBEDDING_COPIES, "lm_head.weight"];

/** Left in checkpoints by older code: copies of block 0's table, and one for cross-attention, which T5 does not bias. */
const UNUSED_BIAS =
  /^(encoder|decoder)\.block\.\d+\.layer\.\d\.\w+\.relative_attention_bias\.weight$/;

/**
 * Every weight of the model, fp32, by its name in the checkpoint (see `parameterShapes`).
 *
 * A tensor that the model has no place for is an error where it would have changed the result: one of a block beyond the
 * layers of config.json, a further part of a layer that we compute (a bias, an adapter, a scale), a copy of the embedding
 * that differs from it, a query encoder that config.json does not mention. Others are ignored: relative biases that T5 does not use, heads for other tasks.
 *
 * @throws {InputError} with file and tensor: missing, of another shape than config.json says, or one of those above.
 */
export async function loadWeights(
  folder: string,
  config: ModelConfig,
): Promise<Map<string, Float32Array>> {
  const checkpoint = await openWeights(folder);
  try {
    const shapes = parameterShapes(config);
    checkMissing(checkpoint, config, shapes);
    checkExtras(checkpoint, config, shapes);
    const weights = new Map<string, Float32Array>();
    for (const [name, shape] of shapes) {
      weights.set(name, await readCopies(checkpoint, storedNames(checkpoint, config, name), shape));
    }
    return weights;
  } finally {
    await checkpoint[Symbol.asyncDispose]();
  }
}

/** The names under which the checkpoint really has a weight. */
function storedNames(checkpoint: WeightFile, config: ModelConfig, name: string): string[] {
  return [name, ...copiesOf(name, config)].filter((candidate) => checkpoint.tensors.has(candidate));
}

function copiesOf(name: string, config: ModelConfig): readonly string[] {
  if (name !== "shared.weight") return [];
  return config.tied ? TIED_EMBEDDING_COPIES : EMBEDDING_COPIES;
}

function checkMissing(
  checkpoint: WeightFile,
  config: ModelConfig,
  shapes: ReadonlyMap<string, unknown>,
): void {
  const missing = [...shapes.keys()].filter(
    (name) => storedNames(checkpoint, config, name).length === 0,
  );
  if (missing.length === 0) return;
  const others =
    missing.length === 1 ? "" : ` and ${missing.length - 1} other tensors of config.json`;
  throw misfit(checkpoint.path, `${missing[0]}${others}`, "none of that name");
}

function checkExtras(
  checkpoint: WeightFile,
  config: ModelConfig,
  shapes: ReadonlyMap<string, unknown>,
): void {
  const known = new Set([...shapes.keys()].flatMap((name) => [name, ...copiesOf(name, config)]));
  const layers = [...shapes.keys()].map((name) => name.slice(0, -"weight".length));
  const blocks = { encoder: config.encoderLayers, decoder: config.decoderLayers };
  for (const name of checkpoint.tensors.keys()) {
    if (known.has(name) || UNUSED_BIAS.test(name)) continue;
    if (isOfQueryEncoder(name))
      throw misfit(checkpoint.path, "no query encoder by config.json", name);
    const [, stack, block] = /^(encoder|decoder)\.block\.(\d+)\./.exec(name) ?? [];
    const count = blocks[stack as keyof typeof blocks];
    if (Number(block) >= count)
      throw misfit(checkpoint.path, `${count} blocks in the ${stack}`, name);
    const layer = layers.find((prefix) => name.startsWith(prefix));
    if (layer !== undefined)
      throw misfit(checkpoint.path, `${layer}weight alone`, `${name} as well`);
  }
}

/** One tensor that may be stored several times, which must then be equal. */
async function readCopies(
  checkpoint: WeightFile,
  names: readonly string[],
  shape: readonly number[],
): Promise<Float32Array> {
  for (const name of names) checkShape(checkpoint, name, shape);
  const [first, ...copies] = names as [string, ...string[]];
  const numbers = await checkpoint.read(first);
  for (const copy of copies) {
    if (bytesOf(numbers).equals(bytesOf(await checkpoint.read(copy)))) continue;
    const remedy =
      "set tie_word_embeddings to false in config.json if they are meant to differ, as in T5 v1.1";
    throw misfit(`${checkpoint.path}: ${copy}`, `a copy of ${first}`, "other numbers", remedy);
  }
  return numbers;
}

function checkShape(checkpoint: WeightFile, name: string, shape: readonly number[]): void {
  const tensor = checkpoint.tensors.get(name)!;
  if (tensor.shape.join() === shape.join()) return;
  throw misfit(
    `${tensor.file}: ${name}`,
    `shape [${shape}] as config.json has it`,
    `[${tensor.shape}]`,
  );
}

function misfit(where: string, expected: string, got: string, remedy?: string): InputError {
  return new InputError({
    where,
    expected,
    got,
    remedy: remedy ?? "use the weights and the config.json of one model",
  });
}
