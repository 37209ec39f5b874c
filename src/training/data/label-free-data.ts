/**
 * Training data from examples that are made of documents alone: crops, titles, recurring phrases,
 * and masked sentences of another corpus.
 */

import { createHash } from "node:crypto";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates } from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import { type TextExample, withNullPassages } from "./example-source.ts";
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

/** An example as it is read, before it becomes a training example. */
interface ReadExample {
  readonly example: LabelFreeExample;
  readonly passages: readonly Passage[];
  /** Places among `passages`, at least one. */
  readonly relevant: readonly number[];
}

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
      const read = (index: number): ReadExample | undefined => {
        const found = candidates[index]!.map((id) =>
          clipped(passages.get(id)!, options.maxPassageTokens),
        );
        return readExample(drawn[index]!, found, room);
      };
      const used = [...drawn.keys()].filter((index) => read(index) !== undefined);
      if (used.length === 0) throw nothingToFind(name, drawn.length);
      return {
        size: Math.min(used.length, steps * perStep),
        example: (place) => textExample(read(used[place]!)!, candidatesPerQuestion),
      };
    },
  };
}

/** The best `count` candidates as the example reads them, a relevant one among them. */
function readExample(
  example: LabelFreeExample,
  found: readonly Passage[],
  count: number,
): ReadExample | undefined {
  const left = found.flatMap((passage) => readAs(example, passage) ?? []);
  const isRelevant = ({ id, title, text }: Passage): boolean =>
    example.evidence === undefined
      ? example.relevant.includes(id)
      : containsPhrase(`${title}\n${text}`, example.evidence);
  const passages = left.slice(0, count);
  const relevant = left.find(isRelevant);
  if (!relevant || count === 0) return undefined;
  if (!passages.includes(relevant)) passages[count - 1] = relevant;
  const places = [...passages.keys()].filter((place) => isRelevant(passages[place]!));
  return { example, passages, relevant: places };
}

/**
 * The training example. Until examples can have several relevant passages, or none to generate from,
 * the best of the relevant passages is named, and the target is empty.
 */
function textExample({ example, passages, relevant }: ReadExample, count: number): TextExample {
  return {
    question: example.question,
    answer: example.answer ?? "",
    passages: withNullPassages(passages, count),
    relevant: relevant[0],
  };
}

/** The passage that is always a candidate is one of the relevant ones, drawn by seed and example. */
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
