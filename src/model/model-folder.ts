/** The files of a model folder, and copies of it. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isWeightFile } from "../checkpoints/open.ts";
import { replaceByCopy, replaceFile } from "../io/replace-file.ts";
import { sentencePieceModel, TOKENIZER_JSON } from "../text/tokens/tokenizer-json.ts";
import type { BertSource } from "./bert-form.ts";

/** The tokenizer, other configuration, and texts about the model: no logs of a training run. */
const DESCRIPTION =
  /^(spiece\.model|tokenizer.*|\w+_config\.json|special_tokens_map\.json|added_tokens\.json|(README|LICENSE|NOTICE)(\.\w+)?)$/i;

/**
 * Copies the files of a model, except `config.json`, which the caller writes last: a half-written
 * copy cannot be loaded.
 */
export async function copyModelFiles(
  from: string,
  to: string,
  { weights }: { readonly weights: boolean },
): Promise<void> {
  for (const name of await fileNames(from))
    if (DESCRIPTION.test(name) || (weights && isWeightFile(name)))
      await replaceByCopy(join(to, name), join(from, name));
}

/** Makes a `spiece.model` of `tokenizer.json` where a folder has the latter alone. */
export async function completeTokenizer(folder: string): Promise<void> {
  const names = await fileNames(folder);
  if (names.includes("spiece.model") || !names.includes(TOKENIZER_JSON)) return;
  const bytes = await sentencePieceModel(join(folder, TOKENIZER_JSON));
  await replaceFile(join(folder, "spiece.model"), (file) => file.writeFile(bytes));
}

/** Writes the `tokenizer.json` of a BERT. */
export const writeTokenizer = (folder: string, { tokenizer }: Pick<BertSource, "tokenizer">) =>
  replaceFile(join(folder, TOKENIZER_JSON), (file) =>
    file.writeFile(`${JSON.stringify(tokenizer)}\n`),
  );

/** Links to files are included, because a downloaded model consists of links. */
const fileNames = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name);
