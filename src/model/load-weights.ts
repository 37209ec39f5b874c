/** Loads the weights of a checkpoint and checks that they fit `config.json`. */

import { stat } from "node:fs/promises";
import { checkFinite } from "../checkpoints/finite.ts";
import { type Int8Matrix, transpose } from "../checkpoints/int8.ts";
import { openWeights } from "../checkpoints/open.ts";
import { hasParts, PartReader, readScales } from "../checkpoints/part-reader.ts";
import { bytesOf } from "../checkpoints/values.ts";
import type { StoredValues, WeightFile } from "../checkpoints/weight-file.ts";
import { InputError, systemProblem } from "../io/errors.ts";
import { openInputFile } from "../io/input-file.ts";
import { isStored, type Weight } from "../tensor/onnx-weights.ts";
import type { ModelConfig } from "./config.ts";
import { isOfQueryEncoder, parameterShapes } from "./parameter-names.ts";

/** Other names of the embedding in checkpoints, instead of `shared.weight` or in addition to it. */
const EMBEDDING_COPIES: readonly string[] = [
  "encoder.embed_tokens.weight",
  "decoder.embed_tokens.weight",
];
const TIED_EMBEDDING_COPIES: readonly string[] = [...EMBEDDING_COPIES, "lm_head.weight"];

/**
 * Tables that older code left in checkpoints: copies of the table of block 0, and one for the
 * cross-attention, which has no bias in T5.
 */
const UNUSED_BIAS =
  /^(encoder|decoder)\.block\.\d+\.layer\.\d\.\w+\.relative_attention_bias\.weight$/;

/** The weights of a model in its folder. */
export interface StoredWeights extends AsyncDisposable {
  /** A weight as float32, by its name in the checkpoint (see `parameterShapes`). */
  read(name: string): Promise<Float32Array>;
  /**
   * The same in parts, from first to last. A part is valid until another one is read, also one of
   * another weight.
   */
  parts(name: string): AsyncIterable<Float32Array>;
  /** Whether a weight is stored as 8-bit integers. */
  isInt8(name: string): Promise<boolean>;
  /** A weight as it is stored, if that is as 8-bit integers. */
  integers(name: string): Promise<Int8Matrix | undefined>;
  /**
   * What a session takes: the place of a weight, or its values if it cannot map them.
   *
   * @throws {InputError} if a value is infinite or NaN
   */
  find(name: string): Promise<Weight>;
  /** @throws {InputError} if a file is no longer what it was when it was opened */
  checkUnchanged(): Promise<void>;
}

/** Every weight of the model as float32, by its name in the checkpoint. See {@link openStored}. */
export async function loadWeights(
  folder: string,
  config: ModelConfig,
): Promise<Map<string, Float32Array>> {
  await using stored = await openStored(folder, config);
  return await readWeights(stored, config);
}

/** The same from weights that are open. */
export async function readWeights(
  stored: StoredWeights,
  config: ModelConfig,
): Promise<Map<string, Float32Array>> {
  const weights = new Map<string, Float32Array>();
  for (const name of parameterShapes(config).keys()) weights.set(name, await stored.read(name));
  return weights;
}

/** Every weight of the model as a session takes it, by its name in the checkpoint. */
export async function findWeights(
  stored: StoredWeights,
  config: ModelConfig,
): Promise<Map<string, Weight>> {
  const weights = new Map<string, Weight>();
  for (const name of parameterShapes(config).keys()) weights.set(name, await stored.find(name));
  // A session takes weights from memory or from files, not both.
  const places = [...weights].filter(([, weight]) => isStored(weight));
  if (places.length < weights.size)
    for (const [name] of places) weights.set(name, await stored.read(name));
  return weights;
}

/**
 * Opens the weights of a model and checks that they fit `config.json`.
 *
 * A tensor without a place in the model is an error if it would change the result: a block beyond
 * the layers of config.json, a further tensor of a layer (a bias, an adapter, a scale), a copy of
 * the embedding with other values, a query encoder that config.json does not mention. Other tensors
 * are ignored: unused relative biases, heads for other tasks.
 *
 * @throws {InputError} that names file and tensor: it is missing, its shape differs from
 * config.json, or it is one of the errors above.
 */
export async function openStored(folder: string, config: ModelConfig): Promise<StoredWeights> {
  const checkpoint = await openWeights(folder);
  try {
    const shapes = parameterShapes(config);
    checkMissing(checkpoint, config, shapes);
    checkExtras(checkpoint, config, shapes);
    for (const [name, shape] of shapes)
      for (const stored of storedNames(checkpoint, config, name))
        checkShape(checkpoint, stored, shape);
    const parts = new PartReader();
    const readParts = async function* (name: string): AsyncGenerator<Float32Array> {
      const place = await checkpoint.locate(name);
      if (place && hasParts(place)) yield* parts.read(place);
      else yield await checkpoint.read(name);
    };
    const firstName = (name: string): string => storedNames(checkpoint, config, name)[0]!;
    for (const name of shapes.keys())
      await checkCopies(checkpoint, storedNames(checkpoint, config, name));
    return {
      read: (name) => checkpoint.read(firstName(name)),
      parts: (name) => readParts(firstName(name)),
      isInt8: async (name) => (await checkpoint.locate(firstName(name)))?.scales !== undefined,
      integers: async (name) => readIntegers(await checkpoint.locate(firstName(name))),
      find: async (name) => {
        const stored = firstName(name);
        const weight = (await checkpoint.locate(stored)) ?? (await checkpoint.read(stored));
        await checkFinite(stored, weight, checkpoint.tensors.get(stored)!.file);
        return weight;
      },
      checkUnchanged: await rememberFiles(checkpoint),
      [Symbol.asyncDispose]: () => checkpoint[Symbol.asyncDispose](),
    };
  } catch (error) {
    await checkpoint[Symbol.asyncDispose]();
    throw error;
  }
}

/** The names under which the checkpoint contains a weight. */
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
  const layers = [...shapes.keys()].map((name) => name.replace(/(weight|bias)$/, ""));
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

/** Checks that the copies of a tensor that is stored several times are equal. */
async function checkCopies(checkpoint: WeightFile, names: readonly string[]): Promise<void> {
  const [first, ...copies] = names as [string, ...string[]];
  if (copies.length === 0) return;
  const place = JSON.stringify(await checkpoint.locate(first));
  for (const copy of copies) {
    // In pytorch_model.bin, tied weights are views of one storage
    if (place !== undefined && JSON.stringify(await checkpoint.locate(copy)) === place) continue;
    const values = await checkpoint.read(first);
    if (bytesOf(values).equals(bytesOf(await checkpoint.read(copy)))) continue;
    const remedy =
      "set tie_word_embeddings to false in config.json if they are meant to differ, as in T5 v1.1";
    throw misfit(`${checkpoint.path}: ${copy}`, `a copy of ${first}`, "other values", remedy);
  }
}

async function readIntegers(place: StoredValues | undefined): Promise<Int8Matrix | undefined> {
  if (!place?.scales) return undefined;
  const [rows, columns] = place.shape as [number, number];
  const stored = new Int8Array(rows * columns);
  await using file = await openInputFile(place.file);
  await file.readInto(bytesOf(stored), place.position);
  const scales = await readScales(file, place, place.scales);
  return { values: scales.columnScales ? stored : transpose(stored, columns), ...scales };
}

/** Remembers size and time of all files. The result compares them with what they are later. */
async function rememberFiles({ tensors }: WeightFile): Promise<() => Promise<void>> {
  const files = [...new Set(Array.from(tensors.values(), ({ file }) => file))];
  const state = async (file: string): Promise<string> => {
    const { ino, size, mtimeMs } = await stat(file);
    return `${ino} ${size} ${mtimeMs}`;
  };
  const before = await Promise.all(files.map(state));
  return async () => {
    for (const [i, file] of files.entries()) {
      const now = await state(file).catch((error: unknown) => systemProblem(error));
      if (now === before[i]) continue;
      throw misfit(file, "the file of which a part was loaded", "another one", "load it again");
    }
  };
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
