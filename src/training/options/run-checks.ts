/** Which options of a run contradict each other, or have no effect. */

import { InputError } from "../../io/errors.ts";
import { defaultOf, type OptionTable, type Resolved } from "../../options/option.ts";
import { learnsPhrases } from "../loss/options.ts";
import type { ResolvedOptions, RunOptions, RunTable } from "./run-options.ts";

type RunChoices = Pick<
  Resolved<RunTable>,
  "refresh" | "refreshSteps" | "scoreTemperature" | "objective" | "alpha" | "copies" | "workers"
> &
  Pick<Resolved<RunTable>, "engine" | "provider"> &
  Pick<RunOptions, "dev" | "devQuestions">;

/** Options that have an effect only beside others. */
const CONDITIONS: readonly {
  readonly name: keyof RunChoices;
  readonly expected: string;
  readonly isMet: (options: RunChoices) => boolean;
}[] = [
  {
    name: "refreshSteps",
    expected: "refresh background",
    isMet: ({ refresh }) => refresh === "background",
  },
  {
    name: "scoreTemperature",
    expected: "the objective retrieval",
    isMet: ({ objective }) => objective === "retrieval",
  },
  {
    name: "alpha",
    expected: "the objective distillation or supervised",
    isMet: ({ objective }) => objective === "distillation" || objective === "supervised",
  },
  {
    name: "copies",
    expected: "an objective with in-batch negatives",
    isMet: ({ objective }) => objective !== "qa" && objective !== "marginal",
  },
  {
    name: "workers",
    expected: "the engine onnxruntime on the CPU",
    isMet: ({ engine, provider }) => engine === "onnxruntime" && provider === "cpu",
  },
  {
    name: "devQuestions",
    expected: "dev, whose first questions are used",
    isMet: ({ dev }) => dev !== undefined,
  },
];

/**
 * @param table the options with their defaults
 * @throws {InputError} for an option that differs from its default and has no effect
 */
export function checkEffects(options: RunChoices, table: OptionTable): void {
  const unused = CONDITIONS.find(
    ({ name, isMet }) => options[name] !== defaultOf(table[name]!) && !isMet(options),
  );
  if (!unused) return;
  throw new InputError({
    where: unused.name,
    expected: unused.expected,
    got: `${unused.name} ${options[unused.name]} without it`,
    remedy: "leave the option out, or add what it needs",
  });
}

/**
 * Fills in `nullPassage`.
 *
 * @throws {InputError} for options that contradict each other
 */
export function checkRun<Options extends Resolved<RunTable>>(
  options: Options,
): Omit<Options, "tau"> & Pick<ResolvedOptions, "nullPassage" | "tau"> {
  const nullPassage = options.nullPassage ?? options.objective === "marginal";
  const conflicts = [
    ...valueConflicts({ ...options, nullPassage }),
    ...candidateConflicts(options),
    ...partConflicts(options),
  ];
  for (const { isGiven, where, expected, got, remedy } of conflicts)
    if (isGiven && got) throw new InputError({ where, expected, got, remedy });
  const { tau } = options;
  if (tau === "model") throw new Error("withModelTau comes before checkRun");
  return { ...options, nullPassage, tau };
}

/** What an option cannot be beside. It is a problem if the option is given and `got` is a text. */
interface Conflict extends Record<"where" | "expected" | "remedy", string> {
  readonly isGiven: boolean;
  readonly got: string | false | undefined;
}

type RunValues = Resolved<RunTable>;

/** Values that the objective does not allow. */
function valueConflicts(options: RunValues & { readonly nullPassage: boolean }): Conflict[] {
  const { objective, candidatesPerQuestion, copyAttention, nullPassage } = options;
  const isRetrieval = objective === "retrieval";
  const unread = (["copyAttention", "qaSteps"] as const).map((where) => ({
    where,
    isGiven: options[where] > 0,
    expected: "0 with the objective retrieval, which does not read",
    got: isRetrieval && `${options[where]}`,
    remedy: "leave it out or take another objective",
  }));
  return [
    {
      where: "candidatesPerQuestion",
      isGiven: nullPassage,
      expected: "2 or more, one of them the null passage",
      got: candidatesPerQuestion < 2 && `${candidatesPerQuestion}`,
      remedy: "give another value",
    },
    {
      where: "copyAttention",
      isGiven: copyAttention > 0,
      expected: "0 with the objective marginal, which reads passages one by one",
      got: objective === "marginal" && `${copyAttention}`,
      remedy: "leave it out or take another objective",
    },
    ...unread,
  ];
}

/** Options that need candidates which are fixed for an iteration. */
function candidateConflicts({
  objective,
  preBatch,
  inBatchNegatives,
  refresh,
  teacher,
}: RunValues): Conflict[] {
  const isReplaced = refresh === "background";
  return [
    {
      where: "preBatch",
      isGiven: preBatch > 0,
      expected:
        "an objective with in-batch negatives, and examples that are fixed for an iteration",
      got:
        ((objective === "marginal" || objective === "qa") && `the objective ${objective}`) ||
        (!inBatchNegatives && "no in-batch negatives") ||
        (isReplaced && "refresh background, which replaces the examples of a step"),
      remedy: "leave one of the two out",
    },
    {
      where: "teacher",
      isGiven: teacher !== undefined,
      expected: "the objective retrieval, with candidates that are fixed for an iteration",
      got:
        (objective !== "retrieval" && `the objective ${objective}`) ||
        (isReplaced && "refresh background, which replaces the candidates at any step"),
      remedy: "leave the teacher out, or give the objective retrieval",
    },
  ];
}

/** Parts of the model that can be trained alone. */
function partConflicts(options: RunValues): Conflict[] {
  const { objective, querySide, readerOnly, headOnly, trainedLayers } = options;
  const { tau, qaSteps, phraseLoss, pooling } = options;
  const mixed = tau !== undefined && "all heads mixed (tau)";
  const other = (querySide && "the query side") || mixed;
  return [
    {
      where: "query side",
      isGiven: querySide !== undefined,
      expected: "one head that is trained to retrieve",
      got:
        (objective === "qa" && "the objective qa") ||
        (qaSteps > 0 && "steps on the objective qa (qaSteps)") ||
        mixed,
      remedy: "leave one of the two out",
    },
    {
      where: "phraseLoss",
      isGiven: phraseLoss > 0,
      expected:
        "the objective retrieval, distillation or supervised, of one head whose keys are trained",
      got:
        (!learnsPhrases(objective) && `the objective ${objective}`) ||
        (pooling !== undefined && "one vector for each text (pooling)") ||
        other,
      remedy: "give another objective, or leave phraseLoss out",
    },
    {
      where: "readerOnly",
      isGiven: readerOnly,
      expected: "the objective qa, which trains no retrieval",
      got: (objective !== "qa" && `the objective ${objective}`) || other,
      remedy: "give the objective qa, or leave readerOnly out",
    },
    {
      where: "headOnly",
      isGiven: headOnly,
      expected: "the objective retrieval, of one head",
      got: (objective !== "retrieval" && `the objective ${objective}`) || other,
      remedy: "give the objective retrieval, or leave headOnly out",
    },
    {
      where: "trainedLayers",
      isGiven: trainedLayers !== undefined,
      expected: "the objective retrieval, of the layers that passages and questions share",
      got:
        (objective !== "retrieval" && `the objective ${objective}`) ||
        (querySide && "the query side") ||
        (headOnly && "the retrieval head alone (headOnly)"),
      remedy: "leave one of the two out",
    },
  ];
}
