/**
 * Writes the weights of a model folder: `model.safetensors`, or shards and their index.
 *
 * The names are those of Hugging Face: `model-00001-of-00003.safetensors`, and
 * `model.safetensors.index.json` with the shard of each tensor.
 */

import { join } from "node:path";
import { replaceFile } from "../io/replace-file.ts";
import {
  type FloatType,
  storedBytes,
  type TensorToWrite,
  writeSafetensors,
} from "./write-safetensors.ts";

type Tensors = ReadonlyMap<string, TensorToWrite>;

/**
 * @param shardBytes a file has at most this many bytes of tensors, unless one tensor has more.
 * Default: one file
 * @returns bytes of all tensors
 * @throws {InputError} as `writeSafetensors` does
 */
export async function writeWeights(
  folder: string,
  tensors: Tensors,
  { dtype, shardBytes }: { readonly dtype: FloatType; readonly shardBytes?: number | undefined },
): Promise<number> {
  const total = bytesOfAll(tensors, dtype);
  if (shardBytes === undefined) {
    await writeSafetensors(join(folder, "model.safetensors"), tensors, { dtype });
    return total;
  }
  const shards = splitTensors(tensors, dtype, shardBytes);
  const weightMap: Record<string, string> = {};
  for (const [i, shard] of shards.entries()) {
    const [number, count] = [i + 1, shards.length].map((n) => String(n).padStart(5, "0"));
    const name = `model-${number}-of-${count}.safetensors`;
    await writeSafetensors(join(folder, name), shard, { dtype });
    for (const tensor of shard.keys()) weightMap[tensor] = name;
  }
  const index = { metadata: { total_size: total }, weight_map: weightMap };
  await replaceFile(join(folder, "model.safetensors.index.json"), (file) =>
    file.writeFile(`${JSON.stringify(index, null, 2)}\n`),
  );
  return total;
}

const bytesOfAll = (tensors: Tensors, dtype: FloatType): number =>
  [...tensors.values()].reduce((sum, tensor) => sum + storedBytes(tensor, dtype), 0);

/** Fills one shard after the other, in the order of the tensors. */
function splitTensors(tensors: Tensors, dtype: FloatType, shardBytes: number): Tensors[] {
  const shards: Map<string, TensorToWrite>[] = [];
  let room = 0;
  for (const [name, tensor] of tensors) {
    const bytes = storedBytes(tensor, dtype);
    if (bytes > room) {
      shards.push(new Map());
      room = shardBytes;
    }
    shards.at(-1)!.set(name, tensor);
    room -= bytes;
  }
  return shards;
}
