/** The files of a model that reatt reads. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isShardIndex, shardsOf, weightsAmong } from "../checkpoints/open.ts";
import { InputError } from "../io/errors.ts";

const REQUIRED = ["config.json", "spiece.model"];
const OPTIONAL = ["generation_config.json"];

/**
 * The files to download, without the shards of the weights.
 *
 * @param where the name of the model in errors
 * @param names the files of the repository
 * @throws {InputError} if one that reatt needs is missing
 */
export function chooseFiles(
  where: string,
  names: ReadonlySet<string>,
): { readonly files: readonly string[]; readonly weights: string } {
  const fail = (expected: string, remedy: string): never => {
    throw new InputError({ where, expected, got: "none", remedy });
  };
  const missing = REQUIRED.find((name) => !names.has(name));
  if (missing) fail(`a file ${missing}`, "name a T5 model with a SentencePiece tokenizer");
  const weights =
    weightsAmong(names) ??
    fail("weights as safetensors or pytorch_model.bin", "name a model in one of these formats");
  const files = [...REQUIRED, ...OPTIONAL.filter((name) => names.has(name)), weights];
  return { files, weights };
}

/** Whether a folder has all files of a model, with every shard of its weights. */
export async function isComplete(folder: string): Promise<boolean> {
  const names = new Set(await readdir(folder).catch(() => []));
  const weights = weightsAmong(names);
  if (weights === undefined || !REQUIRED.every((name) => names.has(name))) return false;
  try {
    const shards = isShardIndex(weights) ? await shardsOf(join(folder, weights)) : [];
    // A snapshot holds links: each must lead to a file.
    for (const name of [...REQUIRED, weights, ...shards]) await stat(join(folder, name));
    return true;
  } catch {
    return false;
  }
}
