/** `reatt index add`, `delete` and `compact`: maintenance of an index that others may read. */

import { spoolPassages } from "../../../documents/passage-spool.ts";
import { DOCUMENT_OPTIONS } from "../../../options/document-options.ts";
import { WRITE_OPTIONS } from "../../../options/library-options.ts";
import { option, text } from "../../../options/option.ts";
import { compactIndex } from "../../../retrieval/index/maintain/compact.ts";
import { deletePassages, readHeader } from "../../../retrieval/maintain.ts";
import { readPassages } from "../../../text/read-passages.ts";
import { defineCommand } from "../../line/command.ts";
import { describeCut, startBuildProgress } from "../../output/build-progress.ts";
import { endOf, openCorpus, STRICT, skippedAsJson } from "../../shared/corpus.ts";
import {
  CORPUS,
  INDEX,
  JSON_OBJECT,
  MODEL_OF_INDEX,
  readIds,
  STORE,
} from "../../shared/file-options.ts";
import { loadModelFor } from "../../shared/load-model.ts";
import { UsageError } from "../../shared/usage-error.ts";

export const addCommand = defineCommand({
  options: {
    model: MODEL_OF_INDEX,
    index: INDEX,
    store: STORE,
    corpus: CORPUS,
    ...DOCUMENT_OPTIONS,
    strict: STRICT,
    ...WRITE_OPTIONS,
    json: JSON_OBJECT,
  },
  library: { spoolPassages },
  example: "reatt index add --index index --corpus news.jsonl",
  async run(
    { model: folder, index: directory, corpus: source, wait, json, store: _, ...splitting },
    signal,
    _operands,
    { spoolPassages },
  ) {
    const { maxPassageTokens } = await readHeader(directory);
    await using model = await loadModelFor([{ directory }], folder, signal);
    const { tokenizer } = model;
    const options = { ...splitting, tokenizer, maxPassageTokens, signal };
    await using corpus = await openCorpus(spoolPassages, source, options);
    let total = 0;
    // Reads the whole file first: a bad line must not end the command in the middle.
    for await (const _passage of readPassages(corpus.file, signal)) total++;
    const progress = startBuildProgress(total);
    await using index = await model
      .add(readPassages(corpus.file, signal), {
        directory,
        wait,
        signal,
        onProgress: progress.report,
      })
      .finally(progress.stop);
    process.stderr.write(
      `Added ${total} passages, there are ${index.passageCount} now: ${directory}\n` +
        describeCut(progress.cut(), maxPassageTokens),
    );
    if (json) {
      const skipped = skippedAsJson(corpus.skipped);
      const { passageCount: passages } = index;
      process.stdout.write(`${JSON.stringify({ added: total, passages, skipped })}\n`);
    }
    return endOf(corpus.skipped);
  },
});

export const deleteCommand = defineCommand({
  options: {
    index: INDEX,
    store: STORE,
    ids: option(text().optional(), {
      help: "file of ids, one a line",
      placeholder: "FILE",
      own: true,
    }),
    ...WRITE_OPTIONS,
    json: JSON_OBJECT,
  },
  operands: { placeholder: "ID...", help: "ids of passages" },
  library: { deletePassages },
  example: "reatt index delete --index index p12 p35",
  async run({ index: directory, ids: file, wait, json }, signal, operands, { deletePassages }) {
    if ((file === undefined) === (operands.length === 0))
      throw new UsageError("either ids or --ids FILE is needed");
    const ids = file === undefined ? operands : await readIds(file);
    const deleted = await deletePassages(ids, { directory, wait, signal });
    process.stdout.write(
      json ? `${JSON.stringify({ deleted })}\n` : `${deleted} passages deleted\n`,
    );
  },
});

export const compactCommand = defineCommand({
  options: { index: INDEX, ...WRITE_OPTIONS },
  library: { compactIndex },
  example: "reatt index compact --index index",
  run: ({ index: directory, wait }, signal, _, { compactIndex }) =>
    compactIndex(directory, { wait, signal }),
});
