/** `reatt index add`, `delete` and `compact`: changes of an index that others may be reading. */

import { ReAtt } from "../reatt.ts";
import { compactIndex } from "../retrieval/index/maintain/compact.ts";
import { deletePassages } from "../retrieval/index/maintain/update.ts";
import { readPassages } from "../text/read-passages.ts";
import { readIds } from "./ids.ts";
import { startBuildProgress } from "./index-build.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";

const INDEX_OPTION = {
  kind: "text",
  placeholder: "DIR",
  help: "folder of the index",
  required: true,
} as const;

export const addCommand: Command = defineCommand({
  name: "index add",
  summary:
    "Adds passages to an index; one whose id is there already takes the place of the old one.",
  options: {
    model: {
      kind: "text",
      placeholder: "DIR",
      help: "folder of the model that made it",
      required: true,
    },
    index: INDEX_OPTION,
    corpus: {
      kind: "text",
      placeholder: "FILE.jsonl[.gz]",
      help: 'passages, one a line: {"_id" or "id","title","text"}',
      required: true,
    },
  },
  async run({ model: folder, index: directory, corpus }, signal) {
    let total = 0;
    for await (const _ of readPassages(corpus, signal)) total++; // a bad line must not come to light in the middle
    await using model = await ReAtt.load(folder);
    const progress = startBuildProgress(total);
    await using index = await model
      .add(readPassages(corpus, signal), { directory, onProgress: progress.report, signal })
      .finally(progress.stop);
    process.stderr.write(
      `Added ${total} passages, there are ${index.passageCount} now: ${directory}\n`,
    );
  },
});

export const deleteCommand: Command = defineCommand({
  name: "index delete",
  summary: "Deletes passages of an index. Prints how many there were; unknown ids are passed over.",
  options: {
    index: INDEX_OPTION,
    ids: { kind: "text", placeholder: "FILE", help: "ids, one a line" },
    json: { kind: "flag", help: "one JSON object" },
  },
  operands: { placeholder: "ID...", help: "ids of passages" },
  async run({ index: directory, ids: file, json }, _signal, operands) {
    if ((file === undefined) === (operands.length === 0))
      throw new UsageError("either ids or --ids FILE is needed");
    const ids = file === undefined ? operands : await readIds(file);
    const deleted = await deletePassages(ids, { directory });
    process.stdout.write(
      json ? `${JSON.stringify({ deleted })}\n` : `${deleted} passages deleted\n`,
    );
  },
});

export const compactCommand: Command = defineCommand({
  name: "index compact",
  summary: "Joins the segments of an index and frees the space of deleted passages.",
  options: { index: INDEX_OPTION },
  run: ({ index: directory }, signal) => compactIndex({ directory, signal }),
});
