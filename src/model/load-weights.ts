/** Loads the weights of a checkpoint and checks that they fit `config.json`. */

import { realpath, stat } from "node:fs/promises";
import { checkFinite } from "../checkpoints/finite.ts";
import { type Int8Matrix, transpose } from "../checkpoints/int8.ts";
import { openWeights } from "../checkpoints/open.ts";
import { hasParts, PartReader, readScales } from "../checkpoints/part-reader.ts";
import { bytesOf } from "../checkpoints/values.ts";
import type { StoredValues, WeightFile } from "../checkpoints/weight-file.ts";
import { InputError, systemProblem } from "../io/errors.ts";
import { InputFiles, openInputFile } from "../io/input-file.ts";
import { isStored, type Weight } from "../tensor/onnx-weights.ts";
import type { ModelConfig } from "./config.ts";
import { EMBEDDING, isOfQueryEncoder, parameterShapes } from "./parameter-names.ts";
import { copiesOfEmbedding, UNUSED_BIAS } from "./t5-form.ts";
import { isOwnForm, namesInFile } from "./weight-names.ts";

/** The weights of a model in its folder. */
export interface StoredWeights extends AsyncDisposable {
  /** A weight as float32, by its name (see `parameterShapes`). */
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
  /**
   * The paths, inodes, sizes and times of the files, of which one changes with each write.
   * Undefined if that is not sure: a file was written within the coarsest step of a clock.
   */
  state(): Promise<string | undefined>;
}

/** Every weight of the model as float32, by its name. See {@link openStored}. */
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

/** Every weight of the model as a session takes it, by its name. */
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
 * of a T5 are ignored: unused relative biases, heads for other tasks.
 *
 * @throws {InputError} that names file and tensor: it is missing, its shape differs from
 * config.json, or it is one of the errors above.
 */
export async function openStored(folder: string, config: ModelConfig): Promise<StoredWeights> {
  const checkpoint = await openWeights(folder);
  const files = new InputFiles();
  try {
    const shapes = parameterShapes(config);
    const names = placesOf(checkpoint, config);
    const ofTensors = Array.from(checkpoint.tensors.values(), ({ file }) => file);
    const paths = [...new Set([checkpoint.path, ...ofTensors])];
    checkMissing(checkpoint, names);
    checkExtras(checkpoint, names);
    for (const [name, shape] of shapes)
      for (const stored of names.get(name)!) checkShape(checkpoint, stored, shape);
    const parts = new PartReader(files);
    const readParts = async function* (name: string): AsyncGenerator<Float32Array> {
      const place = await checkpoint.locate(name);
      if (place && hasParts(place)) yield* parts.read(place);
      else yield await checkpoint.read(name);
    };
    const firstName = (name: string): string => names.get(name)![0]!;
    for (const stored of names.values()) await checkCopies(checkpoint, stored);
    return {
      read: (name) => checkpoint.read(firstName(name)),
      parts: (name) => readParts(firstName(name)),
      isInt8: async (name) => (await checkpoint.locate(firstName(name)))?.scales !== undefined,
      integers: async (name) => readIntegers(await checkpoint.locate(firstName(name))),
      find: async (name) => {
        const stored = firstName(name);
        const weight = (await checkpoint.locate(stored)) ?? (await checkpoint.read(stored));
        await checkFinite(stored, weight, checkpoint.tensors.get(stored)!.file, files);
        return weight;
      },
      checkUnchanged: await rememberFiles(paths),
      state: () => stateOf(paths),
      async [Symbol.asyncDispose]() {
        await files[Symbol.asyncDispose]();
        await checkpoint[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await checkpoint[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * The names of each weight in the checkpoint, by our names: the one that it has, or would have, and
 * those of its copies that the checkpoint contains.
 */
function placesOf({ tensors }: WeightFile, config: ModelConfig): Map<string, string[]> {
  return new Map(
    [...namesInFile(config, tensors)].map(([name, stored]) => {
      const copies = name === EMBEDDING ? copiesOfEmbedding(config) : [];
      const found = [stored, ...copies].filter((candidate) => tensors.has(candidate));
      return [name, found.length > 0 ? found : [stored]];
    }),
  );
}

function checkMissing(
  { path, tensors }: WeightFile,
  names: ReadonlyMap<string, readonly string[]>,
): void {
  const missing = [...names.values()].map(([first]) => first!).filter((name) => !tensors.has(name));
  if (missing.length === 0) return;
  const others =
    missing.length === 1 ? "" : ` and ${missing.length - 1} other tensors of config.json`;
  throw misfit(path, `${missing[0]}${others}`, "none of that name", remedyOf(missing[0]!));
}

/** transformers 5 ties the output embedding of a T5 v1.1 that it makes, and does not store it. */
const remedyOf = (missing: string): string | undefined =>
  missing === OUTPUT_EMBEDDING
    ? `add ${OUTPUT_EMBEDDING} as a copy of shared.weight if transformers tied the two; ` +
      "otherwise use the weights and the config.json of one model"
    : undefined;

function checkExtras(
  { path, tensors }: WeightFile,
  names: ReadonlyMap<string, readonly string[]>,
): void {
  const known = [...names.values()].flat();
  const layers = known.map((name) => name.replace(/(weight|bias)$/, ""));
  const counts = new Map<string, number>();
  for (const name of known) {
    const [, stack, block] = BLOCK.exec(name) ?? [];
    if (stack) counts.set(stack, Math.max(counts.get(stack) ?? 0, Number(block) + 1));
  }
  for (const name of tensors.keys()) {
    if (known.includes(name) || UNUSED_BIAS.test(name)) continue;
    if (isOfQueryEncoder(name)) throw misfit(path, "no query encoder by config.json", name);
    const [, stack, block] = BLOCK.exec(name) ?? [];
    const count = counts.get(stack!);
    if (count !== undefined && Number(block) >= count)
      throw misfit(path, `${count} blocks in the ${stack}`, name);
    const layer = layers.find((prefix) => name.startsWith(prefix));
    if (layer !== undefined) throw misfit(path, `${layer}weight alone`, `${name} as well`);
    if (isOwnForm(tensors)) throw misfit(path, "the tensors of config.json alone", name);
  }
}

/** A layer of a stack of T5. */
const BLOCK = /^(encoder|decoder)\.block\.(\d+)\./;

const OUTPUT_EMBEDDING = "lm_head.weight";

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
      copy === OUTPUT_EMBEDDING
        ? "set tie_word_embeddings to false in config.json, and scale_decoder_outputs if it is " +
          "there, if they are meant to differ, as in T5 v1.1"
        : "use the weights of one model: a T5 has one embedding for encoder and decoder";
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
async function rememberFiles(files: readonly string[]): Promise<() => Promise<void>> {
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

/** Of FAT, whose times are even seconds. */
const COARSEST_STEP_NS = 2_000_000_000n;

async function stateOf(files: readonly string[]): Promise<string | undefined> {
  const settled = BigInt(Date.now()) * 1_000_000n - COARSEST_STEP_NS;
  const states: string[] = [];
  for (const file of files) {
    const path = await realpath(file);
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    if (mtimeNs >= settled || ctimeNs >= settled) return undefined;
    states.push([path, dev, ino, size, mtimeNs, ctimeNs].join(" "));
  }
  return states.join("\n");
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
