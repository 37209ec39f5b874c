/** `reatt train`: from questions and answers to a trained model. */

import { train } from "../training/train.ts";
import { type Command, defineCommand } from "./options.ts";
import { printEvents, showEvents } from "./training-events.ts";
import {
  ITERATION_OPTIONS,
  MACHINE_OPTIONS,
  OBJECTIVES,
  OPTIMISER_OPTIONS,
} from "./training-options.ts";

export const trainCommand: Command = defineCommand({
  name: "train",
  summary: "Trains a model on questions and answers. Interrupted, it saves; --resume goes on.",
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
    data: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: 'questions: {"question","answers",["passage_id"],["ctxs"]}; the forms of FiD and DPR are read too',
      required: true,
    },
    out: {
      kind: "text",
      placeholder: "DIR",
      help: "folder of the trained model, its log and report",
      required: true,
    },
    dev: {
      kind: "text",
      placeholder: "FILE.jsonl",
      help: "questions that choose the best checkpoint",
    },
    "dev-questions": { kind: "integer", help: "of these, use so many", default: 200, minimum: 1 },
    "unsupervised-steps": {
      kind: "integer",
      help: "steps of span corruption on the corpus, where the model has no weights",
      default: 1000,
      minimum: 0,
    },
    ...ITERATION_OPTIONS,
    steps: { kind: "integer", help: "steps of an iteration", default: 500, minimum: 1 },
    "qa-steps": {
      kind: "integer",
      help: "steps that the first iteration begins with on the objective qa",
      default: 0,
      minimum: 0,
    },
    questions: { kind: "integer", help: "questions of a step", default: 16, minimum: 1 },
    "close-passages": { kind: "integer", help: "passages of a question", default: 8, minimum: 1 },
    objective: {
      kind: "choice",
      choices: OBJECTIVES,
      help: "what is minimised",
      default: "distillation",
    },
    alpha: { kind: "number", help: "weight of the distillation loss", default: 8 },
    pointer: {
      kind: "number",
      help: "weight of the loss that draws attention to the answer where a passage has it",
      default: 0,
    },
    candidates: {
      kind: "choice",
      choices: ["batch", "own"],
      help: "passages that compete for a question: those of all questions of the step, or its own",
      default: "batch",
    },
    tau: {
      kind: "number",
      help: "learn which head retrieves, at this temperature (default: the model's head)",
    },
    "probe-heads": {
      kind: "flag",
      help: "show how well each head of the retrieval layer retrieves, and train the best",
    },
    ...OPTIMISER_OPTIONS,
    ...MACHINE_OPTIONS,
    json: { kind: "flag", help: "print events, one JSON object a line" },
  },
  async run({ json, ...given }, signal) {
    const run = train({
      ...given,
      devQuestions: given["dev-questions"],
      unsupervisedSteps: given["unsupervised-steps"],
      refreshSteps: given["refresh-steps"],
      qaSteps: given["qa-steps"],
      selectHead: given["probe-heads"],
      candidatesPerQuestion: given["close-passages"],
      learningRate: given["learning-rate"],
      maxPassageTokens: given["max-passage-tokens"],
      signal,
    });
    const result = await (json ? printEvents(run) : showEvents(run));
    const { folder, report, step, finished } = result;
    if (json) process.stdout.write(`${JSON.stringify({ type: "result", ...result })}\n`);
    else
      process.stdout.write(
        `${finished ? "Finished" : "Stopped"} after step ${step}: ${folder}\nReport: ${report}\n`,
      );
  },
});
