/** The passages of an adaptation: the corpus itself, or those that its documents are split into. */

import { access } from "node:fs/promises";
import { join } from "node:path";
import {
  isPassageFile,
  type PassageSpool,
  spoolPassages,
  writePassages,
} from "../../documents/passage-spool.ts";
import { readDocuments } from "../../documents/read-documents.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import { readConfig } from "../../model/config.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import type { StartOptions } from "../options/adapt-options.ts";

/** The passages in the folder of the run. */
const FILE = "passages.jsonl";

/**
 * The file of passages of `corpus`. Documents are split and written to the folder of the run, where
 * a resumed run finds the same passages; a dry run writes to a temporary folder.
 */
export async function passagesOf(options: StartOptions): Promise<PassageSpool> {
  const { model, corpus, out, maxPassageTokens, resume, dryRun, signal } = options;
  const keep = async () => {};
  if (await isPassageFile(corpus))
    return { file: corpus, isConverted: false, [Symbol.asyncDispose]: keep };
  const { vocabularySize } = await readConfig(model);
  const tokenizer = await loadTokenizer(join(model, "spiece.model"), vocabularySize);
  const reading = { tokenizer, signal, ...(maxPassageTokens && { maxPassageTokens }) };
  if (dryRun) return spoolPassages(corpus, reading);
  const file = join(out, FILE);
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (!resume || !exists) {
    await createOutputDirectory(out);
    await writePassages(file, readDocuments(corpus, reading));
  }
  return { file, isConverted: true, [Symbol.asyncDispose]: keep };
}
