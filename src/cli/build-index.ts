/** `reatt index`: from a corpus to an index. */

import { ReAtt } from "../reatt.ts";
import { readPassages } from "../text/corpus.ts";
import { type Command, defineCommand } from "./options.ts";
import { startProgress } from "./progress.ts";

export const indexCommand: Command = defineCommand({
  name: "index",
  summary: "Indexes a corpus. Interrupted, the same command goes on where it stopped.",
  options: {
    model: { kind: "text", placeholder: "DIR", help: "folder of the model", required: true },
    corpus: {
      kind: "text",
      placeholder: "FILE.jsonl[.gz]",
      help: 'passages, one a line: {"_id" or "id","title","text"}',
      required: true,
    },
    out: { kind: "text", placeholder: "DIR", help: "folder of the index", required: true },
    "max-passage-tokens": { kind: "integer", help: "longer passages are cut", default: 512, minimum: 2 },
  },
  async run({ model: folder, corpus, out, "max-passage-tokens": maxPassageTokens }, signal) {
    const total = await checkCorpus(corpus, signal);
    await using model = await ReAtt.load(folder);
    const started = performance.now();
    const progress = startProgress("passages", total);
    await using index = await model
      .index(readPassages(corpus, signal), {
        directory: out,
        maxPassageTokens,
        onProgress: ({ event, passages }) => {
          if (event === "encoded") progress.update(passages);
          else if (event !== "finished") progress.resume(passages);
        },
        signal,
      })
      .finally(() => progress.stop());
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { passageCount, tokenCount } = index;
    process.stderr.write(`Indexed ${passageCount} passages, ${tokenCount} tokens, in ${seconds} s: ${out}\n`);
  },
});

/** Reads the whole corpus once and counts it: a bad line at its end must not come to light after hours. */
async function checkCorpus(corpus: string, signal: AbortSignal): Promise<number> {
  let passages = 0;
  for await (const _ of readPassages(corpus, signal)) passages++;
  return passages;
}
