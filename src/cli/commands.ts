/** The commands of `reatt`. Each is loaded when it is run or its help is shown. */

import type { CommandEntry } from "./line/command.ts";

const QUESTIONS = "Questions:";
const SERVERS = "Servers:";
const TRAINING = "Training:";
const EVALUATION = "Evaluation:";
const MODELS = "Models:";
const SHELL = "Shell:";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "index",
    summary: "Index a corpus. After an interruption, the same command continues.",
    group: "Index:",
    load: async () => (await import("./commands/index/build.ts")).indexCommand,
  },
  {
    name: "index add",
    summary: "Add passages to an index. A passage with a known id replaces the old one.",
    load: async () => (await import("./commands/index/maintain.ts")).addCommand,
  },
  {
    name: "index delete",
    summary: "Delete passages from an index and print their number. Unknown ids are ignored.",
    load: async () => (await import("./commands/index/maintain.ts")).deleteCommand,
  },
  {
    name: "index compact",
    summary: "Merge the segments of an index and free the space of deleted passages.",
    load: async () => (await import("./commands/index/maintain.ts")).compactCommand,
  },
  {
    name: "index merge",
    summary: "Merge the shards of a build. The index equals one that is built as a whole.",
    load: async () => (await import("./commands/index/merge.ts")).mergeCommand,
  },
  {
    name: "index info",
    summary: "Show the contents and the size of an index.",
    load: async () => (await import("./commands/index/inspect.ts")).infoCommand,
  },
  {
    name: "index verify",
    summary: "Compare every file of an index with its checksum. Exit code 1 if one is damaged.",
    load: async () => (await import("./commands/index/inspect.ts")).verifyCommand,
  },
  {
    name: "init",
    summary: "Write reatt.config.json, which names collections of documents, or accept it.",
    group: "Index:",
    load: async () => (await import("./commands/init.ts")).initCommand,
  },
  {
    name: "status",
    summary: "Show what of the collections is indexed, how old it is, and what failed.",
    group: "Index:",
    load: async () => (await import("./commands/status.ts")).statusCommand,
  },
  {
    name: "sync",
    summary: "Add, replace and delete the documents of a folder that changed since the last time.",
    group: "Index:",
    load: async () => (await import("./commands/sync.ts")).syncCommand,
  },
  {
    name: "retrieve",
    summary: "Find the best passages for questions.",
    group: QUESTIONS,
    load: async () => (await import("./commands/retrieve.ts")).retrieveCommand,
  },
  {
    name: "answer",
    summary: "Answer questions, and show the passages that the answers come from.",
    group: QUESTIONS,
    load: async () => (await import("./commands/answer.ts")).answerCommand,
  },
  {
    name: "ask",
    summary: "Ask questions at a prompt; the model is loaded once.",
    group: QUESTIONS,
    load: async () => (await import("./commands/ask.ts")).askCommand,
  },
  {
    name: "serve",
    summary: "Answer over HTTP, and on a page in the browser. Stopped, it completes requests.",
    group: SERVERS,
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  {
    name: "mcp",
    summary: "Offer search, answer and read to assistants (Model Context Protocol).",
    group: SERVERS,
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  {
    name: "train",
    summary: "Train a model on questions and answers. Stopped, it saves; --resume continues.",
    group: TRAINING,
    load: async () => (await import("./commands/training/train.ts")).trainCommand,
  },
  {
    name: "train phrases",
    summary: "Train the queries that find phrases in an index. The index does not change.",
    load: async () => (await import("./commands/training/train-phrases.ts")).trainPhrasesCommand,
  },
  {
    name: "train pruning",
    summary: "Train the layer that chooses the tokens of an index with --keep-ratio.",
    load: async () => (await import("./commands/training/train-pruning.ts")).trainPruningCommand,
  },
  {
    name: "train negatives",
    summary: "Write hard negatives of questions to a file, which train and adapt read.",
    load: async () =>
      (await import("./commands/training/train-negatives.ts")).trainNegativesCommand,
  },
  {
    name: "adapt",
    summary: "Adapt a model to a corpus. Stopped, it saves; --resume continues.",
    group: TRAINING,
    load: async () => (await import("./commands/training/adapt.ts")).adaptCommand,
  },
  {
    name: "evaluate",
    summary: "Measure rankings and answers, and calibrate the confidence of answers.",
    group: EVALUATION,
  },
  {
    name: "evaluate retrieval",
    summary: "Measure a ranking against qrels, by the rules of trec_eval.",
    load: async () => (await import("./commands/evaluation/evaluate.ts")).evaluateRetrievalCommand,
  },
  {
    name: "evaluate answers",
    summary: "Measure answers and their passages, by the rules of SQuAD and DPR.",
    load: async () => (await import("./commands/evaluation/evaluate.ts")).evaluateAnswersCommand,
  },
  {
    name: "evaluate utility",
    summary: "Measure how much the passages that are found help to give the answers.",
    load: async () => (await import("./commands/evaluation/utility.ts")).evaluateUtilityCommand,
  },
  {
    name: "evaluate calibrate",
    summary: "Fit the confidence of answers to the probability that they are right.",
    load: async () => (await import("./commands/evaluation/calibrate.ts")).calibrateCommand,
  },
  {
    name: "benchmark",
    summary: "Measure retrieval on a BEIR dataset, beside BM25.",
    group: EVALUATION,
    load: async () => (await import("./commands/evaluation/benchmark.ts")).benchmarkCommand,
  },
  {
    name: "models",
    summary: "List the embedded model and the downloaded ones.",
    group: MODELS,
    load: async () => (await import("./commands/models.ts")).modelsCommand,
  },
  {
    name: "download",
    summary: "Download models from the Hugging Face hub, and print their folders.",
    group: MODELS,
    load: async () => (await import("./commands/download.ts")).downloadCommand,
  },
  {
    name: "convert",
    summary: "Copy a model with its weights in another precision.",
    load: async () => (await import("./commands/convert.ts")).convertCommand,
  },
  {
    name: "completion",
    summary: "Print a script with which a shell completes commands and options.",
    group: SHELL,
    load: async () => (await import("./commands/completion.ts")).completionCommand(COMMANDS),
  },
];
