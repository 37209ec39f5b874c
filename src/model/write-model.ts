/** Writes a model folder, beside the one that its weights were made from. */

import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { dequantise, type Int8Matrix, roundAtRandom } from "../checkpoints/int8.ts";
import { hasWeights, isWeightFile } from "../checkpoints/open.ts";
import { bytesOf } from "../checkpoints/values.ts";
import { type TensorToWrite, writeSafetensors } from "../checkpoints/write-safetensors.ts";
import { createOutputDirectory } from "../io/create-directory.ts";
import { inputErrorFrom } from "../io/errors.ts";
import { replaceByCopy } from "../io/replace-file.ts";
import { createRandom } from "../math/random.ts";
import { tokenizerFile } from "../text/tokens/tokenizer.ts";
import type { ModelConfig } from "./config.ts";
import { readConfig, writeConfig } from "./config-file.ts";
import { fingerprint } from "./fingerprint.ts";
import { openStored } from "./load-weights.ts";
import { parameterShapes } from "./parameter-names.ts";
import { namesToStore } from "./weight-names.ts";

/**
 * Writes `model.safetensors`, the tokenizer and `config.json`, each in one step, in this order.
 * Weights that the original model has in int8 stay in int8: those that still have the same values
 * as they are, so that the keys of these weights fit an index of the original model; the others
 * rounded at random (`roundAtRandom`). All others are written as float32.
 *
 * Calibrations are kept: the scores of a trained model are near those that they were fitted to, and
 * without a calibration a model never abstains. The pruning layer is kept if no key of a passage
 * changed.
 *
 * @param values returns a weight by its name in the checkpoint
 * @param options.original folder with the tokenizer and the other fields of the configuration
 * @param options.seed of the rounding: the same weights become the same bytes
 * @throws {InputError} if the disk refuses.
 */
export async function writeModel(
  folder: string,
  config: ModelConfig,
  values: (name: string) => Float32Array,
  { original, seed }: { readonly original: string; readonly seed: number },
): Promise<void> {
  await createOutputDirectory(folder);
  await using stored = await openOriginal(original);
  const tensors = new Map<string, TensorToWrite>();
  const inFile = namesToStore(config);
  for (const [name, shape] of parameterShapes(config)) {
    const own = values(name);
    const integers = await stored?.integers(name);
    const isInteger = integers && own.every(Number.isFinite);
    tensors.set(
      inFile.get(name)!,
      isInteger
        ? asStored(shape, trainedIntegers(own, integers, seed, name))
        : { shape, values: own },
    );
  }
  await writeSafetensors(join(folder, "model.safetensors"), tensors, { dtype: "F32" });
  const tokenizer = tokenizerFile(original);
  await copyPart(tokenizer, join(folder, basename(tokenizer)));
  const keeps = config.pruning && stored && (await hasSameKeys(config, values, stored));
  await writeConfig(folder, { ...config, pruning: keeps ? config.pruning : undefined }, original);
}

/** The integers as they are if the weight has their values, else its own. */
function trainedIntegers(
  own: Float32Array,
  before: Int8Matrix,
  seed: number,
  name: string,
): Int8Matrix {
  if (bytesOf(own).equals(bytesOf(dequantise(before)))) return before;
  const random = createRandom(seed, "int8", name);
  return roundAtRandom(own, before, () => random.uint32() / 2 ** 32);
}

/**
 * Copies a model as it is: its weights in any format, its configuration and its tokenizer. Weights
 * that the folder had are gone.
 *
 * @throws {InputError} if the original has gone, or the disk refuses
 */
export async function copyModel(original: string, folder: string): Promise<void> {
  const names = await readdir(original).catch((error: unknown) => {
    throw changedMeanwhile(error, original, "the model that training began with");
  });
  const others = ["config.json", basename(tokenizerFile(original))];
  const files = names.filter((name) => isWeightFile(name) || others.includes(name));
  for (const name of await readdir(folder))
    if (isWeightFile(name) && !files.includes(name)) await rm(join(folder, name));
  for (const name of files) await copyPart(join(original, name), join(folder, name));
}

/** Whether the keys of passages are those of the original, whose tokenizer was copied. */
async function hasSameKeys(
  config: ModelConfig,
  values: (name: string) => Float32Array,
  stored: Original,
): Promise<boolean> {
  const tokenizer = new Uint8Array(); // the same for both
  const before = async function* (name: string) {
    yield (await stored.read(name))!;
  };
  const [ours, theirs] = await Promise.all([
    fingerprint(config, (name) => [values(name)], tokenizer),
    fingerprint(stored.config, before, tokenizer),
  ]);
  return ours === theirs;
}

const asStored = (shape: readonly number[], integers: Int8Matrix): TensorToWrite => ({
  shape,
  dtype: "I8",
  isTable: integers.columnScales !== undefined,
  values: async () => integers,
});

/** The weights of the model that training began with; undefined for one that it has not. */
interface Original extends AsyncDisposable {
  readonly config: ModelConfig;
  integers(name: string): Promise<Int8Matrix | undefined>;
  read(name: string): Promise<Float32Array | undefined>;
}

/**
 * Undefined if training began with random weights.
 *
 * @throws {InputError} if the original has gone
 */
async function openOriginal(folder: string): Promise<Original | undefined> {
  const isTrained = await hasWeights(folder).catch((error: unknown) => {
    throw changedMeanwhile(error, folder, "the model that training began with");
  });
  if (!isTrained) return undefined;
  const config = await readConfig(folder);
  const stored = await openStored(folder, config);
  const names = parameterShapes(config);
  return {
    config,
    integers: async (name) => (names.has(name) ? stored.integers(name) : undefined),
    read: async (name) => (names.has(name) ? stored.read(name) : undefined),
    [Symbol.asyncDispose]: () => stored[Symbol.asyncDispose](),
  };
}

/** @throws {InputError} if the original has gone */
const copyPart = (from: string, to: string): Promise<void> =>
  replaceByCopy(to, from).catch((error: unknown) => {
    throw changedMeanwhile(error, from, "the model that training began with");
  });

const changedMeanwhile = (error: unknown, where: string, expected: string): unknown =>
  inputErrorFrom(error, { where, expected, remedy: "do not change the model during a run" });
