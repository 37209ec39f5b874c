/** Opens the weights of a Hugging Face folder: safetensors or torch, one file or shards. */

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { parseJson } from "../io/json/parse-json.ts";
import { readSmallFile } from "../io/small-file.ts";
import { openSafetensors } from "./safetensors.ts";
import { findTensor, type TensorInfo, type WeightFile } from "./weight-file.ts";

type OpenFile = (path: string) => Promise<WeightFile>;

/** Loads what reads zip archives only for a file of torch. */
const openTorch: OpenFile = async (path) => (await import("./torch.ts")).openTorch(path);

/** File names of Hugging Face weights, by priority. */
const FORMATS: readonly (readonly [name: string, open: OpenFile])[] = [
  ["model.safetensors", openSafetensors],
  ["model.safetensors.index.json", (path) => openShards(path, openSafetensors)],
  ["pytorch_model.bin", openTorch],
  ["pytorch_model.bin.index.json", (path) => openShards(path, openTorch)],
];

const MAX_INDEX_BYTES = 5_000_000; // an index of 1,000 tensors has 60 kB

/** The file among `names` that `openWeights` opens: weights, or the index of their shards. */
export const weightsAmong = (names: ReadonlySet<string>): string | undefined =>
  FORMATS.find(([name]) => names.has(name))?.[0];

/** Whether a file of weights is the index of shards. */
export const isShardIndex = (name: string): boolean => name.endsWith(".index.json");

/** File names of weights in any format, also in formats that reatt cannot read. */
const WEIGHT_FILE = /\.(safetensors|bin|pth?|ckpt|h5|msgpack|index\.json)$/;

/** Whether a file has weights, or lists their shards, in any format. */
export const isWeightFile = (name: string): boolean => WEIGHT_FILE.test(name);

/**
 * Whether `folder` contains weights in any format. Without weights, a model is trained from
 * scratch.
 */
export async function hasWeights(folder: string): Promise<boolean> {
  return (await readdir(folder)).some(isWeightFile);
}

/** The shard index: tensor name -> file name of the shard in the same folder. */
const ShardIndex = z.object({
  weight_map: z.record(
    z.string(),
    z.string().refine((file) => file === basename(file) && !file.includes("\0")),
  ),
});

/**
 * Opens the weights in `folder` and lists their tensors without reading the data.
 *
 * @throws {InputError} if the folder has no weights, or if they are damaged or contain other
 * objects than tensors.
 */
export async function openWeights(folder: string): Promise<WeightFile> {
  const present = new Set(await readdir(folder).catch(() => []));
  const found = FORMATS.find(([name]) => present.has(name));
  if (found !== undefined) return found[1](join(folder, found[0]));
  throw new InputError({
    code: "ERR_REATT_NO_MODEL",
    where: folder,
    expected: `a folder with one of ${FORMATS.map(([name]) => name).join(", ")}`,
    got: present.size === 0 ? "no folder, or an empty one" : "none of them",
    remedy: "give the folder of a Hugging Face model",
  });
}

async function openShards(path: string, openShard: OpenFile): Promise<WeightFile> {
  const shardOf = new Map(Object.entries(await readShardIndex(path)));
  const shards = new Map<string, WeightFile>();
  const close = async () => {
    for (const shard of shards.values()) await shard[Symbol.asyncDispose]();
  };
  try {
    for (const file of new Set(shardOf.values()))
      shards.set(file, await openShard(join(dirname(path), file)));
    const tensors = new Map<string, TensorInfo>();
    for (const [name, file] of shardOf) {
      const shard = shards.get(file)!;
      tensors.set(name, findTensor(shard.tensors, name, shard.path));
    }
    return {
      path,
      tensors,
      read: async (name) => shards.get(findTensor(shardOf, name, path))!.read(name),
      locate: async (name) => shards.get(findTensor(shardOf, name, path))!.locate(name),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The file names of the shards that an index lists. @throws {InputError} if it is damaged */
export const shardsOf = async (index: string): Promise<string[]> => [
  ...new Set(Object.values(await readShardIndex(index))),
];

async function readShardIndex(path: string): Promise<Record<string, string>> {
  try {
    const text = (await readSmallFile(path, MAX_INDEX_BYTES)).toString();
    return ShardIndex.parse(parseJson(text, path)).weight_map;
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(
      {
        where: path,
        expected: "an object weight_map from tensor names to files beside it",
        got: excerpt((cause as Error).message),
        remedy: "download the file again",
      },
      { cause },
    );
  }
}
