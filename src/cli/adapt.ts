/** `reatt adapt`: a model is moved to another corpus, with labels or without. */

import { type AdaptationResult, adapt } from "../training/adapt.ts";
import type { AdaptOptions } from "../training/options/adapt-options.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";
import { printEvents, showEvents } from "./training-events.ts";
import {
  ITERATION_OPTIONS,
  MACHINE_OPTIONS,
  OBJECTIVES,
  OPTIMISER_OPTIONS,
} from "./training-options.ts";

export const adaptCommand: Command = defineCommand({
  name: "adapt",
  summary: "Adapts a model to a corpus. Interrupted, it saves; --resume goes on.",
  options: {
    model: {
      kind: "text",
      placeholder: "DIR",
      help: "folder of the model to begin with",
      required: true,
    },
    corpus: {
      kind: "text",
      placeholder: "FILE.jsonl[.gz]",
      help: "passages, one a line",
      required: true,
    },
    out: {
      kind: "text",
      placeholder: "DIR",
      help: "folder of the adapted model, its index, log and report",
      required: true,
    },
    data: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: "train on questions and answers, in the forms that reatt train reads",
    },
    queries: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: "train on the queries that --qrels labels",
    },
    qrels: { kind: "text", placeholder: "FILE.tsv", help: "relevance labels, of TREC or BEIR" },
    spans: {
      kind: "flag",
      help: "train on masked sentences of the corpus, as it does if nothing else is given",
    },
    weights: {
      kind: "text",
      placeholder: "spans=1,questions=2",
      help: "how often each is drawn from: spans, questions, labels (default 1 each)",
    },
    dev: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: "questions to watch retrieval with (default: some of what is trained on, kept apart)",
    },
    "source-passage": {
      kind: "choice",
      choices: ["without-sentence", "excluded"],
      help: "how the passage of a masked sentence takes part",
      default: "without-sentence",
    },
    "null-passage": {
      kind: "flag",
      help: "one of the close passages is empty (always with the objective marginal)",
    },
    ...ITERATION_OPTIONS,
    steps: {
      kind: "integer",
      help: "steps of an iteration (default: once through, 50 to 1000)",
      minimum: 1,
    },
    questions: { kind: "integer", help: "questions of a step", default: 16, minimum: 1 },
    "close-passages": {
      kind: "integer",
      help: "passages of a question (default: 4, if there are)",
      minimum: 1,
    },
    objective: {
      kind: "choice",
      choices: OBJECTIVES,
      help: "what is minimised",
      default: "supervised",
    },
    alpha: { kind: "number", help: "weight of the distillation loss", default: 1 },
    "query-side": {
      kind: "choice",
      choices: ["projection", "layers"],
      alone: "projection",
      help: "train the query projection alone, or a copy of the lower layers for questions: an index made before serves on, none is built",
    },
    ...OPTIMISER_OPTIONS,
    "max-answer-tokens": {
      kind: "integer",
      help: "longer answers are cut",
      default: 64,
      minimum: 1,
    },
    "probe-steps": {
      kind: "integer",
      help: "steps between two looks at retrieval (default: a tenth of all, 10 to 200)",
      minimum: 1,
    },
    ...MACHINE_OPTIONS,
    "dry-run": { kind: "flag", help: "say what would be done, with samples, and do nothing" },
    json: { kind: "flag", help: "print events, one JSON object a line" },
  },
  async run(values, signal) {
    const {
      json,
      weights,
      spans,
      "source-passage": sourcePassage,
      "null-passage": nullPassage,
      "refresh-steps": refreshSteps,
      "close-passages": candidatesPerQuestion,
      "query-side": querySide,
      "learning-rate": learningRate,
      "max-passage-tokens": maxPassageTokens,
      "max-answer-tokens": maxAnswerTokens,
      "probe-steps": monitorSteps,
      "dry-run": dryRun,
      ...rest
    } = values;
    const run = adapt({
      ...{
        ...rest,
        querySide,
        sourcePassage,
        refreshSteps,
        candidatesPerQuestion,
        learningRate,
        maxPassageTokens,
        maxAnswerTokens,
        monitorSteps,
      },
      spans: spans || undefined,
      nullPassage: nullPassage || undefined,
      weights: weights === undefined ? undefined : parseWeights(weights),
      dryRun: dryRun || undefined,
      signal,
    });
    const result = await (json ? printEvents(run) : showEvents(run));
    if (json) process.stdout.write(`${JSON.stringify({ type: "result", ...result })}\n`);
    else process.stdout.write(`${summary(result)}\n`);
  },
});

/** `spans=1,questions=2`; what they weigh is checked later. */
function parseWeights(text: string): NonNullable<AdaptOptions["weights"]> {
  const entries = text.split(",").map((part) => /^([a-z]+)=(\d+(?:\.\d+)?)$/.exec(part.trim()));
  if (entries.some((entry) => entry === null))
    throw new UsageError(`--weights: expected NAME=NUMBER,NAME=NUMBER, got "${text}"`);
  return Object.fromEntries(entries.map((entry) => [entry![1], Number(entry![2])]));
}

function summary({ plan, training, index }: AdaptationResult): string {
  if (!training) return plan.samples.join("\n\n");
  const { folder, report, step, finished, failure, monitor } = training;
  const reason = failure ? `: ${failure}; kept the model of step ${monitor?.step ?? 0}` : "";
  return [
    `${finished && !failure ? "Finished" : "Stopped"} after step ${step}${reason}: ${folder}`,
    ...(finished ? [] : ["The same command with --resume goes on"]),
    `Report: ${report}`,
    ...(index ? [`Index: ${index}`] : []),
  ].join("\n");
}
