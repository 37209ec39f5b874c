/** The files of a model that reatt reads. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isShardIndex, shardsOf, weightsAmong } from "../checkpoints/open.ts";
import { InputError } from "../io/errors.ts";

const REQUIRED = ["config.json", "spiece.model"];
const OPTIONAL = ["generation_config.json"];
/** The tokenizers of models that `reatt convert` makes others of: the first one counts. */
const OTHER_TOKENIZERS = ["tokenizer.json", "vocab.txt"];
/** What says how such a model makes vectors. */
const OF_ENCODERS =
  /^(tokenizer_config\.json|modules\.json|config_sentence_transformers\.json|[^/]*Pooling\/config\.json|[^/]*Dense\/(config\.json|model\.safetensors))$/;

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
  const missing = REQUIRED.filter((name) => !names.has(name));
  const tokenizer = OTHER_TOKENIZERS.find((name) => names.has(name));
  const isOther = missing.join() === "spiece.model" && tokenizer !== undefined;
  if (missing.length > 0 && !isOther)
    fail(`a file ${missing[0]}`, "name a T5 with a SentencePiece tokenizer, or a BERT");
  const weights =
    weightsAmong(names) ??
    fail("weights as safetensors or pytorch_model.bin", "name a model in one of these formats");
  const further = isOther
    ? [tokenizer, ...[...names].filter((name) => OF_ENCODERS.test(name))]
    : ["spiece.model"];
  const optional = OPTIONAL.filter((name) => names.has(name));
  return { files: ["config.json", ...further, ...optional, weights], weights };
}

/**
 * Whether a folder has all files of a model that can be loaded, with every shard of its weights.
 * Never of one that has to be converted: a program that reads less of it may have left files out.
 */
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
