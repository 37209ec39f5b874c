/**
 * Training data from examples that are made of documents alone: crops, titles, recurring phrases,
 * and masked sentences of another corpus.
 */

import { createHash } from "node:crypto";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import { NULL_PASSAGE, type Passage } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates } from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import type { TextExample } from "./example-source.ts";
import { withoutMask } from "./masked-sentence-data.ts";
import { containsPhrase } from "./sources/contains-phrase.ts";
import { type LabelFreeExample, readAs } from "./sources/example.ts";
import { clipped } from "./sources/readable.ts";
import type { TrainingData } from "./training-data.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/** Candidates beyond those to read, because a removal can leave a passage empty. */
const SPARE_CANDIDATES = 4;
/** Examples to draw for each one to train on, because some have no relevant candidate. */
export const DRAWN_PER_EXAMPLE = 1.25;

/**
 * An example is a query with its candidates, one of which is relevant at least. Examples without a
 * relevant candidate are left out.
 *
 * @param name of the source
 */
export function labelFreeData(
  options: ResolvedOptions,
  corpus: Corpus,
  name: string,
  examples: readonly LabelFreeExample[],
): TrainingData {
  const { candidatesPerQuestion, nullPassage, seed, steps, questions: perStep } = options;
  const room = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  const count = Math.max(room, Math.min(room + SPARE_CANDIDATES, corpus.size));
  return {
    digest: createHash("sha256").update(JSON.stringify(examples)).digest("hex"),
    async *examples(iteration, retriever) {
      const order = createRandom(seed, name, iteration).shuffle(examples);
      const drawn = order.slice(0, Math.ceil(DRAWN_PER_EXAMPLE * steps * perStep));
      const candidates = yield* cachedCandidates(options, corpus, {
        name: `close-passages-${name}-${iteration}.jsonl`,
        questions: drawn.map((example) => asQuestion(example, seed)),
        count,
        openRetriever: async () => retriever ?? withoutMask(bm25Candidates(await corpus.bm25())),
      });
      const passages = await corpus.pick(candidates.flat());
      const read = (index: number): TextExample | undefined => {
        const found = candidates[index]!.map((id) =>
          clipped(passages.get(id)!, options.maxPassageTokens),
        );
        const example = readExample(drawn[index]!, found, room);
        return example && nullPassage
          ? { ...example, passages: [...example.passages, NULL_PASSAGE] }
          : example;
      };
      const used = [...drawn.keys()].filter((index) => read(index) !== undefined);
      if (used.length === 0) throw nothingToFind(name, drawn.length);
      return {
        size: Math.min(used.length, steps * perStep),
        example: (place) => read(used[place]!)!,
      };
    },
  };
}

/** The example with its best `count` candidates, a relevant one among them; else undefined. */
function readExample(
  example: LabelFreeExample,
  found: readonly Passage[],
  count: number,
): TextExample | undefined {
  const { question, answer, evidence, removal } = example;
  const left = found.flatMap((passage) => readAs(example, passage) ?? []);
  const isRelevant = ({ id, title, text }: Passage): boolean =>
    evidence === undefined
      ? example.relevant.includes(id)
      : containsPhrase(`${title}\n${text}`, evidence);
  const relevant = left.find(isRelevant);
  if (!relevant || count === 0) return undefined;
  const passages = left.slice(0, count);
  if (!passages.includes(relevant)) passages[count - 1] = relevant;
  // The passage of a sentence is about the same, so it is no negative.
  const source = removal.cut?.passageId ?? removal.passageId;
  const ids = [...passages.filter(isRelevant).map(({ id }) => id), ...(source ? [source] : [])];
  return {
    question,
    answer: answer ?? "",
    passages,
    relevant: [...new Set([...ids, ...(evidence === undefined ? example.relevant : [])])],
    answers: evidence === undefined ? [] : [evidence],
    retrievalOnly: answer === undefined,
  };
}

/** One of the relevant passages, drawn by seed and example, is always a candidate. */
function asQuestion(
  { id, question, answer, relevant }: LabelFreeExample,
  seed: number,
): TrainingQuestion {
  const place =
    relevant.length > 1 ? createRandom(seed, "relevant", id).integer(relevant.length) : 0;
  const passageId = relevant[place];
  return { id, question, answers: [answer ?? ""], ...(passageId !== undefined && { passageId }) };
}

const nothingToFind = (name: string, examples: number): InputError =>
  new InputError({
    where: name,
    expected: "an example with a passage that helps",
    got: `none in ${examples} examples`,
    remedy: `leave ${name} out of --sources`,
  });
