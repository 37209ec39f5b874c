/** Finds the weights of a Hugging Face folder, whatever they are kept in: safetensors or torch, whole or in shards. */

import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { openSafetensors } from "./safetensors.ts";
import { openTorch } from "./torch.ts";
import { findTensor, type TensorInfo, type WeightFile } from "./weight-file.ts";

type OpenFile = (path: string) => Promise<WeightFile>;

/** The names under which Hugging Face saves weights, in the order in which they are looked for. */
const CANDIDATES: readonly (readonly [name: string, open: OpenFile])[] = [
  ["model.safetensors", openSafetensors],
  ["model.safetensors.index.json", (path) => openShards(path, openSafetensors)],
  ["pytorch_model.bin", openTorch],
  ["pytorch_model.bin.index.json", (path) => openShards(path, openTorch)],
];

/** Files that hold weights, ours to read or not. */
const WEIGHT_FILE = /\.(safetensors|bin|pth?|ckpt|h5|msgpack|index\.json)$/;

/** Whether `folder` holds weights, in whatever form: a model to train further, and not one to train from scratch. */
export async function hasWeights(folder: string): Promise<boolean> {
  return (await readdir(folder)).some((name) => WEIGHT_FILE.test(name));
}

/** The file that says which shard holds which tensor; shards lie beside it. */
const ShardIndex = z.object({
  weight_map: z.record(
    z.string(),
    z.string().refine((file) => file === basename(file)),
  ),
});

/**
 * Opens the weights in `folder` and lists their tensors without reading them.
 *
 * @throws {InputError} where the folder has none, or they are damaged, or hold more than tensors.
 */
export async function openWeights(folder: string): Promise<WeightFile> {
  const present = new Set(await readdir(folder).catch(() => []));
  const found = CANDIDATES.find(([name]) => present.has(name));
  if (found !== undefined) return found[1](join(folder, found[0]));
  throw new InputError({
    where: folder,
    expected: `a folder with one of ${CANDIDATES.map(([name]) => name).join(", ")}`,
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
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readShardIndex(path: string): Promise<Record<string, string>> {
  try {
    return ShardIndex.parse(JSON.parse(await readFile(path, "utf8"))).weight_map;
  } catch (cause) {
    throw new InputError(
      {
        where: path,
        expected: "an object weight_map from tensor names to files beside it",
        got: excerpt((cause as Error).message),
        remedy: "fetch the file again",
      },
      { cause },
    );
  }
}
