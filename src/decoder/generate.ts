/**
 * Generation of answers: beam search over a batch of questions. Greedy search is the case of one
 * beam.
 *
 * At each step a question keeps its `beams` best unfinished answers. An answer that ends with
 * `</s>` among the `beams` best is finished. Its score is
 *
 *     sum of log probabilities / length ** lengthPenalty
 *
 * and the finished answer with the highest score is the result.
 *
 * Source: the beam search of Hugging Face transformers, with early stopping `true` or `"never"`.
 * `noRepeatSize` is its `no_repeat_ngram_size`; here it does not change the probabilities.
 */

export interface GenerateOptions {
  /** Default 1: greedy search. */
  readonly beams?: number | undefined;
  /** Length limit of an answer in tokens, with `</s>`. Default 50. */
  readonly maxTokens?: number | undefined;
  /** A value above 0 favours long answers. Default 1: the mean log probability decides. */
  readonly lengthPenalty?: number | undefined;
  /**
   * Whether to stop a question as soon as `beams` answers are finished, even if an unfinished
   * answer can still get a higher score. Default true.
   */
  readonly earlyStopping?: boolean | undefined;
  /** An answer contains each sequence of this many tokens at most once. Default 0: no limit. */
  readonly noRepeatSize?: number | undefined;
  /** The tokens that may follow those written so far, for a question. Default: all tokens. */
  readonly allowed?:
    | ((written: readonly number[], question: number) => ReadonlySet<number>)
    | undefined;
  /** Receives each token. With several beams, it receives them when the answer is chosen. */
  readonly onToken?: ((token: number, question: number) => void) | undefined;
  /** Stops between two steps; the call then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface Generated {
  /** Without the start token; ends with `</s>` unless `maxTokens` cut the answer. */
  readonly tokenIds: number[];
  /** The log probability of each token after the tokens before it. */
  readonly logProbabilities: number[];
  /**
   * The log probability of each token minus that of the most probable other token at its place. It
   * is below 0 where a beam, `noRepeatSize` or `allowed` chose another token than the most probable
   * one.
   */
  readonly margins: number[];
}

export interface Vocabulary {
  readonly startId: number;
  readonly endId: number;
  readonly padId: number;
}

/**
 * One step of a decoder: the last token of each row and the row of the previous step that it
 * continues -> logits [rows, vocabulary] of the next token. The rows of a question are adjacent;
 * each question has one row at the first step and the same number of rows, at most `beams`, later.
 */
export type DecoderStep = (tokens: Int32Array, parents: Int32Array) => Promise<Float32Array>;

interface Hypothesis extends Generated {
  /** Sum of `logProbabilities`; minus infinity for a filler of {@link equalise}. */
  readonly total: number;
  /** The row of the last step that holds its cache. */
  readonly row: number;
}

/** The state of one question. */
interface Search {
  running: Hypothesis[];
  /** The best finished answers, best first, at most `beams`. */
  ended: Hypothesis[];
  done: boolean;
}

/** The options without their defaults, and the token that ends an answer. */
interface Rules {
  readonly beams: number;
  readonly maxTokens: number;
  readonly lengthPenalty: number;
  readonly earlyStopping: boolean;
  readonly noRepeatSize: number;
  readonly allowed: GenerateOptions["allowed"];
  readonly endId: number;
}

/**
 * Generates the best answer for each of `questions` questions.
 *
 * @throws the reason of `options.signal` once it is aborted.
 */
export async function generate(
  step: DecoderStep,
  questions: number,
  vocabulary: Vocabulary,
  options: GenerateOptions = {},
): Promise<Generated[]> {
  const { onToken, signal } = options;
  const rules = resolve(options, vocabulary.endId);
  const searches = Array.from({ length: questions }, (_, question) => startSearch(question));
  let rowsEach = 1; // rows of one question
  for (let length = 1; length <= rules.maxTokens; length++) {
    if (searches.every(({ done }) => done)) break;
    signal?.throwIfAborted();
    rowsEach = equalise(searches, rowsEach, vocabulary.padId);
    const rows = searches.flatMap(({ running }) => running);
    const logits = await step(
      Int32Array.from(rows, ({ tokenIds }) => tokenIds.at(-1) ?? vocabulary.startId),
      Int32Array.from(rows, ({ row }) => row),
    );
    const size = logits.length / rows.length;
    for (const [question, search] of searches.entries()) {
      if (search.done)
        search.running = []; // the fillers of `equalise`
      else {
        const best = advance(search, question, { logits, size, rowsEach }, rules);
        if (rules.beams === 1) onToken?.(best.tokenIds.at(-1)!, question);
      }
    }
  }
  const answers = searches.map((search) => bestAnswer(search, rules));
  if (rules.beams > 1)
    for (const [question, { tokenIds }] of answers.entries())
      for (const token of tokenIds) onToken?.(token, question);
  return answers;
}

function resolve(options: GenerateOptions, endId: number): Rules {
  const { beams = 1, maxTokens = 50, lengthPenalty = 1 } = options;
  const { earlyStopping = true, noRepeatSize = 0, allowed } = options;
  return { beams, maxTokens, lengthPenalty, earlyStopping, noRepeatSize, allowed, endId };
}

const startSearch = (row: number): Search => ({
  running: [{ tokenIds: [], logProbabilities: [], margins: [], total: 0, row }],
  ended: [],
  done: false,
});

/**
 * Gives each question the same number of rows, with fillers that cannot win. Returns that number;
 * `previous` is the number at the previous step.
 */
function equalise(searches: readonly Search[], previous: number, padId: number): number {
  const rowsEach = Math.max(...searches.map(({ running }) => running.length));
  for (const [question, { running }] of searches.entries())
    while (running.length < rowsEach)
      running.push({
        tokenIds: [padId],
        logProbabilities: [],
        margins: [],
        total: Number.NEGATIVE_INFINITY,
        row: question * previous,
      });
  return rowsEach;
}

/** The logits of one step: `rowsEach` adjacent rows of each question, `size` values in a row. */
interface StepLogits {
  readonly logits: Float32Array;
  readonly size: number;
  readonly rowsEach: number;
}

/** Continues the answers of one question by one token, and returns the best continuation. */
function advance(
  search: Search,
  question: number,
  { logits, size, rowsEach }: StepLogits,
  rules: Rules,
): Hypothesis {
  const { beams, endId } = rules;
  const next = search.running
    .flatMap((hypothesis, i) => {
      const row = question * rowsEach + i;
      const own = logits.subarray(row * size, (row + 1) * size);
      const mayFollow = followers(hypothesis.tokenIds, question, rules);
      return continuations(hypothesis, row, own, mayFollow, 2 * beams);
    })
    .sort((a, b) => b.total - a.total);
  const hasEnded = ({ tokenIds }: Hypothesis): boolean => tokenIds.at(-1) === endId;
  search.ended = [...search.ended, ...next.slice(0, beams).filter(hasEnded)]
    .sort((a, b) => score(b, rules) - score(a, rules))
    .slice(0, beams);
  search.running = next.filter((hypothesis) => !hasEnded(hypothesis)).slice(0, beams);
  search.done = isDone(search, rules);
  if (search.done) search.running = [];
  return next[0]!;
}

function isDone({ running, ended }: Search, rules: Rules): boolean {
  const { beams, earlyStopping } = rules;
  const best = running[0];
  if (!best) return true;
  if (ended.length < beams) return false;
  return earlyStopping || beams === 1 || highestScore(best, rules) <= score(ended.at(-1)!, rules);
}

const score = ({ total, tokenIds }: Hypothesis, { lengthPenalty }: Rules): number =>
  total / tokenIds.length ** lengthPenalty;

/** The score of a hypothesis if all its further tokens have probability 1. */
const highestScore = (
  { total, tokenIds }: Hypothesis,
  { lengthPenalty, maxTokens }: Rules,
): number => total / (lengthPenalty > 0 ? maxTokens : tokenIds.length) ** lengthPenalty;

function bestAnswer({ running, ended }: Search, rules: Rules): Generated {
  const all = [...ended, ...running].sort((a, b) => score(b, rules) - score(a, rules));
  const { tokenIds, logProbabilities, margins } = all[0]!;
  return { tokenIds, logProbabilities, margins };
}

/** Whether a token may follow the tokens written so far, by `noRepeatSize` and `allowed`. */
function followers(written: readonly number[], question: number, rules: Rules): MayFollow {
  const banned = repeating(written, rules.noRepeatSize);
  const allowed = rules.allowed?.(written, question);
  return (token) => !banned.has(token) && (allowed?.has(token) ?? true);
}

type MayFollow = (token: number) => boolean;

/** The next tokens that would repeat a sequence of `size` tokens. */
function repeating(tokenIds: readonly number[], size: number): Set<number> {
  const banned = new Set<number>();
  const last = tokenIds.length - size + 1; // start of the sequence that the next token completes
  const begun = tokenIds.slice(last);
  for (let first = 0; size > 0 && first < last; first++)
    if (begun.every((token, i) => token === tokenIds[first + i]))
      banned.add(tokenIds[first + size - 1]!);
  return banned;
}

/** The hypothesis with each of its `count` most probable next tokens that may follow. */
function continuations(
  hypothesis: Hypothesis,
  row: number,
  logits: Float32Array,
  mayFollow: MayFollow,
  count: number,
): Hypothesis[] {
  if (hypothesis.total === Number.NEGATIVE_INFINITY) return [];
  const tokens = largest(logits, mayFollow, count);
  const [first, second] = largest(logits, () => true, 2);
  const highest = logits[first!]!;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  const normaliser = highest + Math.log(sum);
  return tokens.map((token) => {
    const logProbability = logits[token]! - normaliser;
    const margin = logits[token]! - (token === first ? logits[second!]! : highest);
    return {
      tokenIds: [...hypothesis.tokenIds, token],
      logProbabilities: [...hypothesis.logProbabilities, logProbability],
      margins: [...hypothesis.margins, margin],
      total: hypothesis.total + logProbability,
      row,
    };
  });
}

/** Positions of the `count` largest values that may follow, largest first, ties by position. */
function largest(values: Float32Array, mayFollow: MayFollow, count: number): number[] {
  const best: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (best.length === count && value <= values[best[count - 1]!]!) continue;
    if (!mayFollow(i)) continue;
    let at = best.length;
    while (at > 0 && value > values[best[at - 1]!]!) at--;
    best.splice(at, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
}
