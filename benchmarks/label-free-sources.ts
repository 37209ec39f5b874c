/**
 * How many examples each label-free source makes of a corpus, and how often BM25 finds a relevant
 * passage first when the passages are read as in training (without sentence, title or copies).
 *
 *     node --import tsx benchmarks/label-free-sources.ts CORPUS.jsonl...
 *
 * R@1 is over 500 random examples of each source. The query of a masked sentence is the sentence
 * without the mask. BM25 ranks its first 30 passages again after the removal.
 */

import { createRandom } from "../src/math/random.ts";
import { buildBm25 } from "../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../src/text/passage.ts";
import { type Corpus, openCorpus } from "../src/training/examples/corpus.ts";
import { type Example, readAs } from "../src/training/examples/example.ts";
import { SOURCES } from "../src/training/examples/sources/list.ts";
import { readable } from "../src/training/examples/sources/readable.ts";

const MEASURED = 500;
const DEPTH = 30;

async function listOf(examples: AsyncIterable<Example>): Promise<Example[]> {
  const list: Example[] = [];
  for await (const example of examples) list.push(example);
  return list;
}

/** Whether BM25 ranks a relevant passage first; undefined if no passage is relevant. */
async function isFirst(
  { question, ...example }: Example,
  found: readonly Passage[],
): Promise<boolean | undefined> {
  const read = found.flatMap((passage) => readAs(example.removal ?? {}, passage) ?? []);
  const ids = read.map(({ id }) => id);
  const relevant = new Set(ids.filter((id) => example.relevant.includes(id)));
  if (relevant.size === 0) return undefined;
  const bm25 = await buildBm25(read);
  const best = bm25.search(question.replace("<extra_id_0>", " "), 1)[0];
  return best !== undefined && relevant.has(best.id);
}

/** R@1 over random examples, and the share of the examples with a relevant passage. */
async function measure(
  corpus: Corpus,
  all: readonly Example[],
): Promise<{ first: number; usable: number }> {
  const bm25 = await corpus.bm25();
  const drawn = createRandom(0, "measured").shuffle(all).slice(0, MEASURED);
  const ids = drawn.map(({ question, relevant }) => {
    const found = bm25.search(question.replace("<extra_id_0>", " "), DEPTH).map(({ id }) => id);
    return [...new Set([...found, ...relevant])];
  });
  const passages = await corpus.pick(ids.flat());
  const results: boolean[] = [];
  for (const [i, example] of drawn.entries()) {
    const result = await isFirst(
      example,
      ids[i]!.map((id) => passages.get(id)!),
    );
    if (result !== undefined) results.push(result);
  }
  const first = results.filter((result) => result).length / Math.max(1, results.length);
  return { first, usable: results.length / Math.max(1, drawn.length) };
}

console.log("| corpus | source | examples | with a relevant passage, % | R@1 of BM25, % |");
console.log("|---|---|---|---|---|");
for (const file of process.argv.slice(2)) {
  await using corpus = await openCorpus(file);
  const passages = readable(corpus, 512);
  for (const source of SOURCES) {
    const all = await listOf(source.examples(passages, { seed: 0, wanted: 5 * corpus.size }));
    const { first, usable } = await measure(corpus, all);
    const percent = (share: number): string => (100 * share).toFixed(1);
    console.log(
      `| ${file} | ${source.name} | ${all.length} | ${percent(usable)} | ${percent(first)} |`,
    );
  }
}
