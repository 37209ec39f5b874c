/**
 * BERT encoders as models of this package, beside the vectors of transformers 5.24 and the ids of
 * tokenizers 0.23. The fixtures are random models; their values are exact in float16.
 */

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import {
  encodeSequences,
  openRetrieverSession,
  querySide,
} from "../../src/encoder/retriever-session.ts";
import { InputError } from "../../src/io/errors.ts";
import { readBert } from "../../src/model/bert-form.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { type ConvertOptions, convertModel } from "../../src/model/convert.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { ReAtt } from "../../src/reatt.ts";
import { passageIds, retrievalQuestionIds } from "../../src/text/tokens/prompts.ts";
import { loadTokenizer, tokenizerFile } from "../../src/text/tokens/tokenizer.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";
import { assertNear } from "../support/arrays.ts";
import { startHub } from "../support/hub-server.ts";

const FIXTURE = "test/fixtures/bert";
const TOLERANCE = 1e-5; // of values up to 3, in float32
const parent = temporaryFolder();
const at = (...names: string[]): string => join(parent, ...names);

interface Expected {
  readonly ids: readonly number[];
  readonly vector: readonly number[];
}
type Case = Readonly<Record<"question" | "passage", Expected>> & { readonly untitled?: Expected };
const expected: Readonly<Record<"mean" | "cls" | "dpr" | "colbert", Case>> & {
  readonly texts: Readonly<Record<"q" | "title" | "text", string>>;
  readonly tokens: readonly { readonly text: string; readonly ids: readonly number[] }[];
} = JSON.parse(readFileSync(join(FIXTURE, "expected.json"), "utf8"));

/** A folder with the files of a fixture, and others. */
function folderOf(
  name: string,
  fixture: string,
  files: Readonly<Record<string, object>> = {},
): string {
  cpSync(join(FIXTURE, fixture), at(name), { recursive: true });
  copyFileSync(join(FIXTURE, "tokenizer.json"), at(name, "tokenizer.json"));
  for (const [file, value] of Object.entries(files)) {
    mkdirSync(join(at(name), file, ".."), { recursive: true });
    writeFileSync(at(name, file), JSON.stringify(value));
  }
  return at(name);
}

const sentenceFiles = (mode: string, settings: object): Record<string, object> => ({
  "modules.json": [
    { idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" },
    { idx: 1, name: "1", path: "1_Pooling", type: "sentence_transformers.models.Pooling" },
  ],
  "1_Pooling/config.json": { word_embedding_dimension: 32, [`pooling_mode_${mode}`]: true },
  "config_sentence_transformers.json": settings,
});

/** The folder of ColBERT: the encoder below a prefix, and its projection. */
async function colbertFolder(): Promise<string> {
  const folder = folderOf("colbert", "encoder");
  const tensors = new Map();
  for (const [prefix, path] of [
    ["bert.", join(FIXTURE, "encoder/model.safetensors")],
    ["", join(FIXTURE, "linear.safetensors")],
  ] as const) {
    await using file = await openSafetensors(path);
    for (const [name, { shape }] of file.tensors)
      tensors.set(prefix + name, { shape, values: await file.read(name) });
  }
  rmSync(join(folder, "model.safetensors"));
  await writeSafetensors(join(folder, "model.safetensors"), tensors, { dtype: "F32" });
  return folder;
}

/** The same as PyLate saves it: the projection is a module, and markers are added tokens. */
function pylateFolder(): string {
  const folder = folderOf("pylate", "encoder", {
    "modules.json": [
      { idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" },
      { idx: 1, name: "1", path: "1_Dense", type: "pylate.models.Dense.Dense" },
    ],
    "1_Dense/config.json": {
      in_features: 32,
      out_features: 16,
      bias: false,
      activation_function: "torch.nn.modules.linear.Identity",
    },
    "config_sentence_transformers.json": {
      similarity_fn_name: "MaxSim",
      query_prefix: "[Q] ",
      document_prefix: "[D] ",
    },
  });
  copyFileSync(join(FIXTURE, "linear.safetensors"), join(folder, "1_Dense/model.safetensors"));
  const tokenizer = JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8"));
  tokenizer.added_tokens.push({ id: 1, content: "[Q] " }, { id: 2, content: "[D] " });
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer));
  return folder;
}

async function checkVectors(
  name: string,
  folder: string,
  cases: Case,
  options: Partial<ConvertOptions> = {},
): Promise<string> {
  const out = at(`${name}-reatt`);
  await convertModel(folder, { out, precision: "fp32", ...options });
  const config = await readConfig(out);
  const weights = await loadWeights(out, config);
  const tokenizer = await loadTokenizer(tokenizerFile(out), config);
  await using encoder = await openRetrieverSession(config, { weights });
  await using questions = await openRetrieverSession(config, { weights }, querySide);
  const { q, title, text } = expected.texts;
  const ids = {
    question: retrievalQuestionIds(tokenizer, q),
    passage: passageIds(tokenizer, { title, text }, 64),
    untitled: passageIds(tokenizer, { text }, 64),
  };
  for (const [part, one] of Object.entries(cases) as [keyof typeof ids, Expected][]) {
    assert.equal(ids[part], one.ids, `${name}: ${part}`);
    const [session, output] =
      part === "question" ? ([questions, "queries"] as const) : ([encoder, "keys"] as const);
    const [vector] = await encodeSequences(session, config, [ids[part]], output);
    assertNear(vector!, one.vector, TOLERANCE);
  }
  return out;
}

test("a BERT, and models of sentence-transformers, have the vectors of transformers", async () => {
  await checkVectors("plain", folderOf("plain", "encoder"), expected.mean);
  const mean = sentenceFiles("mean_tokens", { similarity_fn_name: "cosine" });
  await checkVectors("mean", folderOf("mean", "encoder", mean), expected.mean);
  const cls = sentenceFiles("cls_token", { similarity_fn_name: "dot" });
  await checkVectors("cls", folderOf("cls", "encoder", cls), expected.cls);
});

test("DPR has two encoders", async () => {
  const queryEncoder = join(FIXTURE, "dpr-question");
  const out = await checkVectors("dpr", folderOf("dpr", "dpr-context"), expected.dpr, {
    queryEncoder,
  });
  const passages = [
    { id: "1", title: "Rhine", text: "The Rhine flows in the North Sea." },
    { id: "2", title: "Ulm", text: "The tower of Ulm is built of stone." },
  ];
  await using model = await ReAtt.load(out);
  await using index = await model.index(passages, { directory: at("index"), maxPassageTokens: 64 });
  const hits = await model.retrieve("Where flows the Rhine?", index, { topK: 2 });
  assert.is(hits.length, 2);
});

test("encoders are taken from the hub by their names, with what says how they make vectors", async () => {
  const cls = sentenceFiles("cls_token", { similarity_fn_name: "dot" });
  const filesOf = (folder: string): Record<string, Buffer> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => statSync(join(folder, name)).isFile())
        .map((name) => [name, readFileSync(join(folder, name))]),
    );
  const repository = (folder: string) => ({
    refs: { main: "a".repeat(40) },
    files: { ...filesOf(folder), "onnx/model.onnx": Buffer.from("none of ours") },
  });
  await using hub = await startHub({
    "reatt/sentences": repository(folderOf("hub-cls", "encoder", cls)),
    "reatt/tokens": repository(pylateFolder()),
    "reatt/passages": repository(folderOf("hub-dpr", "dpr-context")),
    "reatt/questions": repository(folderOf("hub-questions", "dpr-question")),
  });
  const before = { ...process.env };
  Object.assign(process.env, { HF_HOME: at("hub"), HF_ENDPOINT: hub.url });
  try {
    await checkVectors("hub-cls", "reatt/sentences", expected.cls);
    const cached = at("hub", "hub", "models--reatt--sentences", "snapshots", "a".repeat(40));
    assert.not.ok(existsSync(join(cached, "onnx")));
    // What another program left of a model may lack the file that says how it makes vectors.
    rmSync(join(cached, "1_Pooling"), { recursive: true });
    rmSync(at("hub-cls-reatt"), { recursive: true });
    await checkVectors("hub-cls", "reatt/sentences", expected.cls);
    await checkVectors("hub-pylate", "reatt/tokens", expected.colbert);
    const queryEncoder = "reatt/questions";
    await checkVectors("hub-dpr", "reatt/passages", expected.dpr, { queryEncoder });
  } finally {
    process.env = before;
  }
});

test("ColBERT has a vector for each token, after its markers", async () => {
  await checkVectors("colbert", await colbertFolder(), expected.colbert);
  await checkVectors("pylate", pylateFolder(), expected.colbert);
});

test("prompts of sentence-transformers stand before texts", async () => {
  const settings = { prompts: { query: "where: ", document: "a " } };
  const files = sentenceFiles("mean_tokens", settings);
  const out = at("prompts-reatt");
  await convertModel(folderOf("prompts", "encoder", files), { out, precision: "int8" });
  const config = await readConfig(out);
  assert.is(config.prompts!.question, "[CLS] where: ");
  assert.is(config.prompts!.title, "[CLS] a ");
});

for (const [source, file] of [
  ["tokenizer.json", "tokenizer.json"],
  ["vocab.txt", "vocab.txt"],
] as const)
  test(`${source} gives the ids of Hugging Face's tokenizers`, async () => {
    const folder = folderOf(`tokens-${source}`, "encoder");
    if (file === "vocab.txt") {
      rmSync(join(folder, "tokenizer.json"));
      copyFileSync(join(FIXTURE, file), join(folder, file));
    }
    const out = `${folder}-reatt`;
    await convertModel(folder, { out, precision: "fp32" });
    const tokenizer = await loadTokenizer(tokenizerFile(out));
    for (const { text, ids } of expected.tokens) assert.equal(tokenizer.encode(text), ids, text);
    assert.equal(tokenizer.encode("the river of stone", 2), tokenizer.encode("the river"));
    assert.is(tokenizer.decode(tokenizer.encode("flowing stone")), "flowing stone");
  });

test("any text has ids of the vocabulary", async () => {
  const tokenizer = await loadTokenizer(join(FIXTURE, "tokenizer.json"));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const ids = tokenizer.encode(text);
      assert.ok(ids.every((id) => id >= 0 && id < tokenizer.vocabularySize));
      tokenizer.decode(ids);
    }),
  );
});

test("any value of a key, in any file, is taken or is an InputError", async () => {
  const pooled = folderOf("fuzz", "encoder", sentenceFiles("mean_tokens", {}));
  for (const [folder, module] of [
    [pooled, "1_Pooling"],
    [pylateFolder(), "1_Dense"],
  ] as const) {
    const files = [
      "config.json",
      "tokenizer.json",
      "modules.json",
      `${module}/config.json`,
      "config_sentence_transformers.json",
    ];
    const whole = new Map(
      files.map((file) => [file, JSON.parse(readFileSync(join(folder, file), "utf8"))]),
    );
    const changed = fc.constantFrom(...files).chain((file) =>
      fc.record({
        file: fc.constant(file),
        key: fc.constantFrom(...Object.keys(whole.get(file)), "prompts", "similarity_fn_name"),
        value: fc.oneof(fc.jsonValue(), fc.constantFrom(0, -1, 1.5, 1e9, "", null)),
      }),
    );
    await fc.assert(
      fc.asyncProperty(changed, async ({ file, key, value }) => {
        writeFileSync(join(folder, file), JSON.stringify({ ...whole.get(file), [key]: value }));
        try {
          await readBert(folder, undefined);
        } catch (error) {
          assert.instance(error, InputError);
        } finally {
          writeFileSync(join(folder, file), JSON.stringify(whole.get(file)));
        }
      }),
    );
  }
});

test("what a model cannot have is refused in one line", async () => {
  const refuses = async (name: string, files: Record<string, object>, message: RegExp) => {
    const folder = folderOf(name, "encoder", files);
    await refused(convertModel(folder, { out: `${folder}-reatt`, precision: "fp32" }), message);
  };
  const config = JSON.parse(readFileSync(join(FIXTURE, "encoder/config.json"), "utf8"));
  const dense = { path: "2_Dense", type: "sentence_transformers.models.Dense" };
  const transformer = { path: "", type: "sentence_transformers.models.Transformer" };
  const pooling = { path: "1_Pooling", type: "sentence_transformers.models.Pooling" };
  const pooled = { "modules.json": [transformer, pooling, dense] };
  await refuses("dense", pooled, /modules\.json: .*got Dense/);
  const tanh = { bias: false, activation_function: "torch.nn.modules.activation.Tanh" };
  const active = { "modules.json": [transformer, dense], "2_Dense/config.json": tanh };
  await refuses("active", active, /2_Dense\/config\.json: activation_function/);
  await refuses("max", sentenceFiles("max_tokens", {}), /pooling by cls or mean, got max_tokens/);
  const relative = { ...config, position_embedding_type: "relative_key" };
  await refuses("relative", { "config.json": relative }, /config\.json: position_embedding_type/);
  await refuses("layers", { "config.json": { ...config, num_hidden_layers: 1 } }, /1 layers/);
  await refuses("bpe", { "tokenizer.json": { model: { type: "BPE" } } }, /WordPiece model as of/);
  const form = sentenceFiles("mean_tokens", { similarity_fn_name: "euclidean" });
  await refuses("form", form, /config_sentence_transformers\.json: similarity_fn_name/);
  await refuses("list", { "modules.json": {} }, /modules\.json: expected a list of modules/);
  await refuses("heads", { "config.json": { ...config, num_attention_heads: 5 } }, /multiple of 5/);
  await refuses("rows", { "config.json": { ...config, vocab_size: 9 } }, /expected/);
  const alone = { out: at("alone"), precision: "fp32" } as const;
  await refused(convertModel(folderOf("dpr-alone", "dpr-context"), alone), /as queryEncoder/);
  const wide = folderOf("wide", "dpr-question");
  writeFileSync(join(wide, "config.json"), JSON.stringify({ ...config, hidden_size: 64 }));
  const two = { out: at("two"), precision: "fp32", queryEncoder: wide } as const;
  await refused(convertModel(folderOf("two-a", "encoder"), two), /hidden_size: expected 32/);
  const t5 = { out: at("t5"), precision: "fp32", queryEncoder: wide } as const;
  await refused(convertModel(undefined, t5), /leave queryEncoder out/);
});

test.run();
