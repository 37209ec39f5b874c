/** The training data of `train`: its files of questions, and what is held out to measure with. */

import { basename } from "node:path";
import { modelTitle } from "../hub/model-title.ts";
import { canonicalDigest } from "../io/json/canonical-json.ts";
import type { ProgressEvent } from "../io/progress.ts";
import type { Corpus } from "./examples/corpus.ts";
import type { Example } from "./examples/example.ts";
import {
  heldOutCount,
  holdOut,
  maxHeldOut,
  nothingHeldOut,
  type Split,
  splitCounts,
} from "./examples/held-out.ts";
import { readable } from "./examples/sources/readable.ts";
import type { SourceTraits } from "./examples/sources/source.ts";
import { mixture, type Share, type TrainingData } from "./examples/training-data.ts";
import {
  fittingQuestions,
  questionExamples,
  questionSource,
  readQuestionsAbout,
} from "./examples/training-questions.ts";
import { withCandidates } from "./examples/with-candidates.ts";
import { type TrainRequest, weighedFiles } from "./options/train-options.ts";
import type { TrainingPlan } from "./plan/plan.ts";
import { candidateSettings, type Run, type StartingModel } from "./run/run.ts";
import { createMonitorSet } from "./verdict/monitor-set.ts";

/** A file of questions. */
interface QuestionFile {
  readonly file: string;
  /** Relative frequency of its questions. */
  readonly weight: number;
  readonly examples: readonly Example[];
  /** Of its own name, by which its candidates are kept. */
  readonly source: SourceTraits;
}

/** The questions of a run. */
export interface Questions {
  readonly files: readonly QuestionFile[];
  /** Why none are held out. Undefined: some are. */
  readonly whole: string | undefined;
}

/** @throws {InputError} as `readQuestionsAbout` does */
export async function readFiles(
  options: TrainRequest,
  start: StartingModel,
  corpus: Corpus,
  tell: (what: string) => void,
): Promise<Questions> {
  const given = weighedFiles(options.data);
  const files: QuestionFile[] = [];
  for (const { file, weight } of given) {
    const all = await readQuestionsAbout(corpus, file, options.signal, tell);
    const examples = questionExamples(await fittingQuestions(options.model, all, tell));
    files.push({
      ...{ file, examples, weight: weight ?? examples.length },
      source: sourceOf(files.length, given.length),
    });
  }
  return { files, whole: whyWhole(options, start, files) };
}

/** @param count number of files */
const sourceOf = (place: number, count: number): SourceTraits =>
  count === 1 ? questionSource : { ...questionSource, name: `questions-${place + 1}` };

/** Why all questions are trained on. Undefined if some are held out. */
function whyWhole(
  options: TrainRequest,
  { hasWeights }: StartingModel,
  files: Questions["files"],
): string | undefined {
  if (options.dev !== undefined) return "dev questions are measured";
  if (!options.holdOut) return "no questions are held out";
  if (!hasWeights) return "training begins with random weights";
  if (files.some((file) => heldOutIn(file, options) > 0)) return undefined;
  const count = files.reduce((sum, { examples }) => sum + examples.length, 0);
  return `${count} questions are too few to hold some out`;
}

type Limit = Parameters<typeof maxHeldOut>[0];

/** How many questions are held out, by the rule of `adapt`: some of each file. */
export const heldOutOf = ({ files, whole }: Questions, options: Limit): number =>
  whole === undefined ? files.reduce((sum, file) => sum + heldOutIn(file, options), 0) : 0;

const heldOutIn = ({ examples }: QuestionFile, options: Limit): number =>
  heldOutCount(examples.length, maxHeldOut(options));

/** What a run trains on, for its plan. */
export const plannedQuestions = (
  { files, whole }: Questions,
  options: Limit,
): TrainingPlan["sources"] =>
  files.map((file) => ({
    name: files.length === 1 ? file.source.name : `${file.source.name} of ${basename(file.file)}`,
    examples: file.examples.length - (whole === undefined ? heldOutIn(file, options) : 0),
  }));

/** The files, for the title and the card of a run. */
export const filesText = ({ files }: Questions): string =>
  files.map(({ file }) => basename(file)).join(", ");

/** The same with the number of questions that were trained on, and the weights of several. */
export const trainedOn = ({ files }: Questions, counts: TrainingData["counts"]): string =>
  files
    .map(({ file, examples: { length }, weight }, i) => {
      const trained = counts ? `${counts.sources[i]!.training} of ${length}` : `${length}`;
      const weighed = files.length === 1 ? "" : ` with weight ${weight}`;
      return `${basename(file)}, ${trained} questions${weighed}`;
    })
    .join("; ");

/** @throws {InputError} as `withCandidates` does */
export async function* questionData(
  run: Run,
  corpus: Corpus,
  questions: Questions,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { files } = questions;
  const splits = await split(run, corpus, questions);
  const shares = files.map(({ source, weight }): Share => {
    const { training } = splits.get(source.name)!;
    const data = withCandidates(candidateSettings(run), corpus, source, training);
    return { name: source.name, weight, data };
  });
  const examples = run.schedule.steps * run.batch.questions;
  const data =
    shares.length === 1 ? shares[0]!.data : mixture(shares, { examples, seed: run.seed });
  const kind = `Training of ${modelTitle(run.model)} on ${filesText(questions)}`;
  const heldOut = [...splits.values()].flatMap((one) => one.heldOut);
  const parts = files.map(({ file, source: { name } }, i) => {
    const { digest } = shares[i]!.data;
    const held = splits.get(name)!.heldOut;
    return { name, file, digest: held.length > 0 ? canonicalDigest([digest, held]) : digest };
  });
  if (heldOut.length === 0) return { ...data, kind, parts };
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(run, corpus, heldOut);
  const measured = monitorSet.questions.length;
  return {
    ...data,
    ...{ kind, parts },
    digest: canonicalDigest([data.digest, heldOut]),
    counts: {
      sources: files.map(({ source, examples: all }) =>
        splitCounts(source, all, splits.get(source.name)!),
      ),
      ...{ heldOut: heldOut.length, measured },
    },
    monitorSet: measured > 0 ? monitorSet : undefined,
  };
}

async function split(
  run: Run,
  corpus: Corpus,
  { files, whole }: Questions,
): Promise<ReadonlyMap<string, Split>> {
  const all = new Map(files.map(({ source, examples }) => [source.name, examples]));
  if (whole !== undefined) return nothingHeldOut(all);
  const max = (): number => maxHeldOut(run);
  return holdOut(all, readable(corpus, run.batch.maxPassageTokens), { seed: run.seed, max });
}
