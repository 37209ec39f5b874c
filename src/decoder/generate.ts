/**
 * Writing answers: beam search over a batch of questions, of which greedy search is the case of one beam.
 *
 * At every step each question keeps its `beams` best unfinished answers. An answer that ends (`</s>`) while it is among
 * the `beams` best is set aside with the score `sum of log probabilities / length ** lengthPenalty`; the best of those is
 * the result. Source: the beam search of Hugging Face transformers (early stopping `true` or, with its bound, `"never"`;
 * `noRepeatSize` is its `no_repeat_ngram_size`, but probabilities stay those of the model).
 */

export interface GenerateOptions {
  /** Default 1: greedy. */
  readonly beams?: number | undefined;
  /** The most tokens of an answer, `</s>` included. Default 50, as in the paper. */
  readonly maxTokens?: number | undefined;
  /** Above 0 favours long answers. Default 1: the mean log probability decides. */
  readonly lengthPenalty?: number | undefined;
  /** Stop a question as soon as `beams` answers have ended, even if an unfinished one could still win. Default true. */
  readonly earlyStopping?: boolean | undefined;
  /** So many tokens in a row stand in an answer once at most. Default 0: as often as they are written. */
  readonly noRepeatSize?: number | undefined;
  /** Called with each token of question `question` as it is written; with several beams only when its answer is chosen. */
  readonly onToken?: ((token: number, question: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Generated {
  /** Without the start token; ends with `</s>` unless the answer was cut at `maxTokens`. */
  readonly tokenIds: number[];
  /** Of each token, given those before it. */
  readonly logProbabilities: number[];
}

export interface Vocabulary {
  readonly startId: number;
  readonly endId: number;
  readonly padId: number;
}

/**
 * One step of a decoder: the last token of every row, and the row of the step before that it continues, to the logits
 * [rows, vocabulary] of the next token. Rows of a question stand together: one at the first step, then `beams`.
 */
export type DecoderStep = (tokens: Int32Array, parents: Int32Array) => Promise<Float32Array>;

interface Hypothesis extends Generated {
  /** Sum of `logProbabilities`; minus infinity for one that only keeps the rows of all questions equally many. */
  readonly total: number;
  /** The row of the last step that holds its cache. */
  readonly row: number;
}

/** The state of one question. */
interface Search {
  running: Hypothesis[];
  /** The best ended answers, best first, at most `beams`. */
  ended: Hypothesis[];
  done: boolean;
}

/** The best answer of each of `questions` questions. Throws the signal's reason when aborted. */
export async function generate(
  step: DecoderStep,
  questions: number,
  vocabulary: Vocabulary,
  options: GenerateOptions = {},
): Promise<Generated[]> {
  const { beams = 1, maxTokens = 50, lengthPenalty = 1, earlyStopping = true } = options;
  const { noRepeatSize = 0, onToken, signal } = options;
  const score = ({ total, tokenIds }: Hypothesis): number =>
    total / tokenIds.length ** lengthPenalty;
  const byScore = (a: Hypothesis, b: Hypothesis): number => score(b) - score(a);
  const hasEnded = ({ tokenIds }: Hypothesis): boolean => tokenIds.at(-1) === vocabulary.endId;
  /** The best score that a continuation of `hypothesis` can reach: every further token has probability 1. */
  const bestPossible = ({ total, tokenIds }: Hypothesis): number =>
    total / (lengthPenalty > 0 ? maxTokens : tokenIds.length) ** lengthPenalty;

  const advance = (search: Search, question: number, candidates: Hypothesis[]): void => {
    search.ended = [...search.ended, ...candidates.slice(0, beams).filter(hasEnded)]
      .sort(byScore)
      .slice(0, beams);
    search.running = candidates.filter((candidate) => !hasEnded(candidate)).slice(0, beams);
    const best = search.running[0];
    const full = search.ended.length === beams;
    search.done =
      !best ||
      (full && (earlyStopping || beams === 1 || bestPossible(best) <= score(search.ended.at(-1)!)));
    if (search.done) search.running = [];
    if (beams === 1) onToken?.(candidates[0]!.tokenIds.at(-1)!, question);
  };

  const searches = Array.from({ length: questions }, (_, question): Search => {
    return {
      running: [{ tokenIds: [], logProbabilities: [], total: 0, row: question }],
      ended: [],
      done: false,
    };
  });
  let each = 1; // rows of a question
  for (let length = 1; length <= maxTokens && searches.some(({ done }) => !done); length++) {
    signal?.throwIfAborted();
    each = equalise(searches, each, vocabulary.padId);
    const rows = searches.flatMap(({ running }) => running);
    const last = rows.map(({ tokenIds }) => tokenIds.at(-1) ?? vocabulary.startId);
    const logits = await step(
      Int32Array.from(last),
      Int32Array.from(rows, ({ row }) => row),
    );
    const size = logits.length / rows.length;
    for (const [question, search] of searches.entries()) {
      if (search.done) {
        search.running = []; // rows that `equalise` gave it
        continue;
      }
      const candidates = search.running.flatMap((hypothesis, i) => {
        const row = question * each + i;
        const own = logits.subarray(row * size, (row + 1) * size);
        const barred = repeating(hypothesis.tokenIds, noRepeatSize);
        return continuations(hypothesis, row, own, barred, 2 * beams);
      });
      advance(
        search,
        question,
        candidates.sort((a, b) => b.total - a.total),
      );
    }
  }

  return searches.map(({ running, ended }, question) => {
    const { tokenIds, logProbabilities } = [...ended, ...running].sort(byScore)[0]!;
    if (beams > 1) for (const token of tokenIds) onToken?.(token, question);
    return { tokenIds, logProbabilities };
  });
}

/** Gives every question as many rows as the one with most, by rows that can't win; returns how many. Before, it was `previous`. */
function equalise(searches: readonly Search[], previous: number, padId: number): number {
  const each = Math.max(...searches.map(({ running }) => running.length));
  for (const [question, { running }] of searches.entries())
    while (running.length < each)
      running.push({
        tokenIds: [padId],
        logProbabilities: [],
        total: Number.NEGATIVE_INFINITY,
        row: question * previous,
      });
  return each;
}

/** The next tokens that would repeat `size` tokens in a row. */
function repeating(tokenIds: readonly number[], size: number): Set<number> {
  const barred = new Set<number>();
  const last = tokenIds.length - size + 1; // where the `size` tokens begin that the next one completes
  const begun = tokenIds.slice(last);
  for (let first = 0; size > 0 && first < last; first++)
    if (begun.every((token, i) => token === tokenIds[first + i]))
      barred.add(tokenIds[first + size - 1]!);
  return barred;
}

/** The `count` most probable next tokens of a hypothesis that are not barred, appended to it. */
function continuations(
  hypothesis: Hypothesis,
  row: number,
  logits: Float32Array,
  barred: ReadonlySet<number>,
  count: number,
): Hypothesis[] {
  if (hypothesis.total === Number.NEGATIVE_INFINITY) return [];
  const tokens = largest(logits, barred, count);
  const highest = logits[tokens[0]!]!;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  const normaliser = highest + Math.log(sum);
  return tokens.map((token) => {
    const logProbability = logits[token]! - normaliser;
    return {
      tokenIds: [...hypothesis.tokenIds, token],
      logProbabilities: [...hypothesis.logProbabilities, logProbability],
      total: hypothesis.total + logProbability,
      row,
    };
  });
}

/** Positions of the `count` largest numbers but those barred, largest first, equal ones in order of position. */
function largest(values: Float32Array, barred: ReadonlySet<number>, count: number): number[] {
  const best: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (best.length === count && value <= values[best[count - 1]!]!) continue;
    if (barred.has(i)) continue;
    let at = best.length;
    while (at > 0 && value > values[best[at - 1]!]!) at--;
    best.splice(at, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
}
