/** The readers of the fuzz campaign, each with inputs that it accepts and how to change them. */

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { openWeights } from "../../src/checkpoints/open.ts";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { openTorch } from "../../src/checkpoints/torch.ts";
import type { WeightFile } from "../../src/checkpoints/weight-file.ts";
import { readZipDirectory } from "../../src/checkpoints/zip.ts";
import { evaluateAnswers, readPredictions } from "../../src/evaluation/predictions.ts";
import { evaluateRun } from "../../src/evaluation/ranking.ts";
import { readQrels, readRun } from "../../src/evaluation/trec.ts";
import { openInputFile } from "../../src/io/input-file.ts";
import type { Random } from "../../src/math/random.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { placeOf } from "../../src/retrieval/places/place-of.ts";
import { parseWhere } from "../../src/retrieval/where/parse-where.ts";
import { readRecord } from "../../src/sync/record.ts";
import { readPassages, readQuestions } from "../../src/text/read-passages.ts";
import { passageIds, retrievalQuestionIds } from "../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";
import { fixtures, safetensorsBytes, zipBytes } from "../checkpoints/support.ts";
import { fuzzedDocuments } from "./fuzzed-documents.ts";
import { flipBytes, mutateBytes, mutateJson } from "./mutate.ts";

/** File name -> contents. */
type Files = Readonly<Record<string, Buffer>>;

export interface FuzzedReader {
  readonly name: string;
  /** Of all inputs, relative to the other readers. */
  readonly share: number;
  readonly make: (random: Random) => Files;
  readonly read: () => Promise<void>;
}

const SPIECE_MODEL = "test/fixtures/t5/spiece.model";
const NORMALISER_BYTES = 237_600; // at the end of the file
const MAX_PASSAGE_TOKENS = 128;
const tokenizer = await loadTokenizer(SPIECE_MODEL);

const PASSAGES = [
  { _id: "a", title: "Dogs", text: "They bark at night." },
  {
    id: 7,
    text: "",
    document: 3,
    metadata: { url: "x", tags: ["a", "b"] },
    year: 2020,
    nested: {},
  },
  { id: "ü", title: null, text: "中文 <extra_id_3> é" },
];
const QUESTIONS = [
  { _id: "q1", text: "Who wrote Faust?" },
  { id: 2, question: "When?", answers: ["1808", "in 1808"], passage_id: "a" },
];
const TRAINING = [
  { question: "Who?", answers: ["Goethe"], passage_id: 7, ctxs: [{ id: "a" }, { passage_id: 1 }] },
  { id: "x", question: "When?", target: "1808", positive_ctxs: [{ psg_id: "3", text: "t" }] },
];
const PREDICTIONS = [
  { id: "q1", answer: "Goethe", passages: [{ text: "Goethe wrote it." }] },
  { id: 2, answer: "", passages: [] },
];
const QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t0\n";
const RUN = "q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 0.25 tag\nq2 Q0 a 1 1e-3 tag\n";

/** `folder` has a folder for each reader, which receives the files that `make` returns. */
export async function fuzzedReaders(folder: string): Promise<FuzzedReader[]> {
  const at = (name: string) => join(folder, name, name);
  const jsonLines = (name: string, records: readonly object[], read: () => Promise<unknown>) =>
    reader(name, 12, (random) => ({ [name]: recordFile(random, records) }), read);
  return [
    reader("model.safetensors", 12, makeSafetensors, () =>
      readAll(openSafetensors(at("model.safetensors"))),
    ),
    reader("index.json", 4, makeShardIndex, () => readAll(openWeights(join(folder, "index.json")))),
    reader("pytorch_model.bin", 20, await torchMaker(), () =>
      readAll(openTorch(at("pytorch_model.bin"))),
    ),
    reader("spiece.model", 1, spieceMaker(), () => readSpiece(at("spiece.model"))),
    reader("config.json", 12, makeConfig, async () =>
      parameterShapes(await readConfig(join(folder, "config.json"))),
    ),
    jsonLines("corpus", PASSAGES, async () => {
      for await (const passage of readPassages(at("corpus")))
        passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS);
    }),
    reader("condition", 12, makeCondition, async () => {
      parseWhere(await readFile(at("condition"), "utf8"));
    }),
    jsonLines("questions", QUESTIONS, async () => {
      for (const { question } of await readQuestions(at("questions")))
        retrievalQuestionIds(tokenizer, question);
    }),
    jsonLines("training", TRAINING, () => readTrainingFile(at("training"))),
    jsonLines("predictions", PREDICTIONS, async () => {
      const predictions = await readPredictions(at("predictions"));
      const questions = [...predictions.keys()].map((id) => ({
        id,
        question: "?",
        answers: [id, "1808"],
      }));
      evaluateAnswers(predictions, questions);
    }),
    reader("qrels", 6, table("qrels", QRELS), async () => {
      evaluateRun(new Map(), await readQrels(at("qrels")));
    }),
    reader("run", 6, table("run", RUN), async () => {
      evaluateRun(await readRun(at("run")), new Map([["q1", new Map([["a", 1]])]]));
    }),
    // sync/record.json below the folder
    reader("sync", 4, makeSyncRecord, () => readRecord(placeOf(folder))),
    ...fuzzedDocuments(folder),
  ];
}

function reader(
  name: string,
  share: number,
  make: (random: Random) => Files,
  read: () => Promise<unknown>,
): FuzzedReader {
  return { name, share, make, read: async () => void (await read()) };
}

/** Reads every tensor of a float type; others are rejected one by one. */
async function readAll(opening: Promise<WeightFile>): Promise<void> {
  const weights = await opening;
  try {
    for (const [name, { dtype }] of weights.tensors)
      if (/^(F32|F16|BF16)$/.test(dtype)) await weights.read(name);
  } finally {
    await weights[Symbol.asyncDispose]();
  }
}

/** JSON Lines or an array, plain or gzip, with changed values or changed bytes. */
function recordFile(random: Random, records: readonly object[]): Buffer {
  const isArray = random.integer(4) === 0;
  const isByBytes = random.integer(2) === 0;
  const changed = isByBytes
    ? records
    : random.shuffle(records).map((r, i) => (i === 0 ? mutateJson(random, r) : r));
  const text = isArray ? JSON.stringify(changed) : changed.map((r) => JSON.stringify(r)).join("\n");
  const plain = Buffer.from(text);
  const bytes = isByBytes ? mutateBytes(random, plain, [plain]) : plain;
  if (random.integer(10) > 0) return bytes;
  const packed = gzipSync(bytes);
  return random.integer(2) === 0 ? packed : mutateBytes(random, packed, [packed]);
}

function table(name: string, text: string): (random: Random) => Files {
  const bytes = Buffer.from(text);
  return (random) => ({ [name]: mutateBytes(random, bytes, [bytes]) });
}

const HEADER = {
  __metadata__: { format: "pt" },
  a: { dtype: "F32", shape: [2, 3], data_offsets: [0, 24] },
  b: { dtype: "F16", shape: [4], data_offsets: [24, 32] },
};
const DATA = Buffer.alloc(32, 1);

function makeSafetensors(random: Random): Files {
  const whole = safetensorsBytes(HEADER, DATA);
  const kind = random.integer(3);
  const json = Buffer.from(JSON.stringify(HEADER));
  if (kind === 0) return { "model.safetensors": mutateBytes(random, whole, [whole]) };
  const header =
    kind === 1
      ? JSON.stringify(mutateJson(random, HEADER))
      : mutateBytes(random, json, [json]).toString();
  return { "model.safetensors": safetensorsBytes(header, DATA) };
}

function makeShardIndex(random: Random): Files {
  const index = { metadata: { total_size: 32 }, weight_map: { a: "shard.bin", b: "shard.bin" } };
  const json = Buffer.from(
    JSON.stringify(random.integer(2) === 0 ? index : mutateJson(random, index)),
  );
  const bytes = random.integer(2) === 0 ? json : mutateBytes(random, json, [json]);
  return { "model.safetensors.index.json": bytes, "shard.bin": safetensorsBytes(HEADER, DATA) };
}

/** Mutates torch's files, or the pickle inside a new archive. */
async function torchMaker(): Promise<(random: Random) => Files> {
  const names = ["views.bin", "module.bin", "nested.bin", "expanded.bin", "code.bin"];
  const files = names.map((name) => readFileSync(join(fixtures, name)));
  const archives = await Promise.all(
    names.slice(0, 3).map((name) => entriesOf(join(fixtures, name))),
  );
  const pickles = archives.map((entries) => pickleOf(entries)[1]);
  return (random) => {
    const file = files[random.integer(files.length)]!;
    const kind = random.integer(4);
    if (kind === 0) return { "pytorch_model.bin": mutateBytes(random, file, files) };
    if (kind === 1) return { "pytorch_model.bin": flipBytes(random, file) };
    const entries = archives[random.integer(archives.length)]!;
    const [name, pickle] = pickleOf(entries);
    const changed = { ...entries, [name]: mutateBytes(random, pickle, pickles) };
    return { "pytorch_model.bin": zipBytes(changed) };
  };
}

const pickleOf = (entries: Files): [string, Buffer] =>
  Object.entries(entries).find(([name]) => name.endsWith("/data.pkl"))!;

async function entriesOf(path: string): Promise<Files> {
  const file = await openInputFile(path);
  const entries: Record<string, Buffer> = {};
  for (const [name, { size, findData }] of await readZipDirectory(file))
    entries[name] = await file.read(await findData(), size);
  await file[Symbol.asyncDispose]();
  return entries;
}

const CONDITION = Buffer.from(
  'year >= 2020 and (lang = "en" or not tags contains \'x\') or n in (1, true) and "a b" exists',
);

const makeCondition = (random: Random): Files => ({
  condition: mutateBytes(random, CONDITION, [CONDITION]),
});

const FILES = { "a.txt": { version: "4 1000", hash: "ab", ids: ["a.txt#1"] } };
const SPLITTING = { passageWords: 100, overlapWords: 0, maxPassageTokens: 200 };

function makeSyncRecord(random: Random): Files {
  const record = { format: "reatt-sync", version: 1, folder: "/docs", splitting: SPLITTING };
  const whole = Buffer.from(JSON.stringify({ ...record, generation: 1, files: FILES }));
  return { "record.json": mutateBytes(random, whole, [whole]) };
}

function makeConfig(random: Random): Files {
  const config = JSON.parse(readFileSync("models/reatt-mini/config.json", "utf8"));
  const json = Buffer.from(
    JSON.stringify(random.integer(2) === 0 ? config : mutateJson(random, config)),
  );
  return { "config.json": random.integer(3) > 0 ? json : mutateBytes(random, json, [json]) };
}

function spieceMaker(): (random: Random) => Files {
  const whole = readFileSync(SPIECE_MODEL);
  return (random) => {
    const kinds = [
      () => mutateBytes(random, whole, [whole]),
      () => flipBytes(random, whole),
      () => flipBytes(random, whole, whole.length - NORMALISER_BYTES),
    ];
    return { "spiece.model": kinds[random.integer(kinds.length)]!() };
  };
}

async function readSpiece(path: string): Promise<void> {
  const loaded = await loadTokenizer(path);
  for (const text of [
    "Who wrote Faust?",
    "ﬁ ½ é e\u0301 中文 <extra_id_3>",
    "{".repeat(200),
    "각 ｶﾞ ﷺ",
  ])
    loaded.decode(loaded.encode(text));
}
