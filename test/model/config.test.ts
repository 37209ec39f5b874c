import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type ModelConfig, retrievalHead, textLayers } from "../../src/model/config.ts";
import { readConfig, writeConfig } from "../../src/model/config-file.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";
import { calibrationOf } from "../support/calibration.ts";
import { testWithShared } from "../support/shared.ts";

const folder = temporaryFolder();
const file = join(folder, "config.json");
const shared = join(import.meta.dirname, "../../../shared");

/** The required keys of config.json. */
const SIZES = { vocab_size: 100, d_model: 8, d_kv: 4, num_heads: 3, d_ff: 16, num_layers: 5 };

function read(keys: object): Promise<ModelConfig> {
  writeFileSync(file, JSON.stringify(keys));
  return readConfig(folder);
}

test("absent keys get Hugging Face's defaults, and head 0 of the middle block retrieves", async () => {
  const sizes = {
    ...{ headSize: 4, heads: 3, feedForwardSize: 16, feedForward: "relu" as const },
    layerNormEpsilon: 1e-6,
  };
  assert.equal(await read(SIZES), {
    vocabularySize: 100,
    modelSize: 8,
    tied: true,
    relativeBuckets: 32,
    relativeMaxDistance: 128,
    dropoutRate: 0.1,
    padId: 0,
    eosId: 1,
    decoderStartId: 0,
    shared: [{ kind: "t5", layers: 2, width: 8, ...sizes }],
    retrieval: [],
    joint: [{ kind: "t5", layers: 3, width: 8, ...sizes, sharesBias: true }],
    retrievalAttention: { from: "joint", stack: 0, head: 0, heads: 1 },
    decoder: { layers: 5, ...sizes },
    distillationTau: 0.001,
    retrievalScale: 1,
    noRepeatSize: 0,
  });
  assert.equal((await read({ ...SIZES, num_layers: 1 })).shared, []);
  assert.is((await read({ ...SIZES, pad_token_id: 7 })).decoderStartId, 7);
});

test("values that make the model useless or exhaust the memory are rejected", async () => {
  const check = (keys: object, message: RegExp) => refused(read({ ...SIZES, ...keys }), message);
  await check({ layer_norm_epsilon: 1e300 }, /layer_norm_epsilon: expected .*<=1, got 1e\+300/);
  await check({ d_model: 10_000_000 }, /d_model: expected .*<=1000000, got 10000000/);
  await check({ d_model: 65_536, d_ff: 65_536 }, /d_model: expected weights of at most 1073741824/);
  writeFileSync(file, `{"task_specific_params":${"[".repeat(500_000)}`);
  await refused(readConfig(folder), /config\.json: expected JSON with at most 100 levels/);
  writeFileSync(file, `{${" ".repeat(2_000_000)}}`);
  await refused(readConfig(folder), /config\.json: expected at most 1\.00 MB, got more/);
});

testWithShared("the reference models and the embedded one", async () => {
  const v11 = await readConfig(join(shared, "reference/reatt-v11"));
  assert.equal(
    [v11.decoder.feedForward, v11.tied, textLayers(v11), v11.decoder.layers, retrievalHead(v11)],
    ["gated-gelu", false, 2, 3, 1],
  );
  assert.is(v11.joint[0]!.layers, 4 - 2);
  const v10 = await readConfig(join(shared, "reference/reatt-v10-tied"));
  assert.equal(
    [v10.decoder.feedForward, v10.tied, textLayers(v10), v10.decoder.layers, retrievalHead(v10)],
    ["relu", true, 3, 2, 2],
  );
  assert.ok(
    Math.abs((await readConfig(join(shared, "models/reatt-mini-seed"))).retrievalScale - 4.0276) <
      1e-4,
  );
});

test("the configuration of google/t5-v1_1-large is read", async () => {
  const config = await read({
    architectures: ["T5ForConditionalGeneration"],
    d_ff: 2816,
    d_kv: 64,
    d_model: 1024,
    decoder_start_token_id: 0,
    dropout_rate: 0.1,
    eos_token_id: 1,
    feed_forward_proj: "gated-gelu",
    initializer_factor: 1.0,
    is_encoder_decoder: true,
    layer_norm_epsilon: 1e-6,
    model_type: "t5",
    num_decoder_layers: 24,
    num_heads: 16,
    num_layers: 24,
    output_past: true,
    pad_token_id: 0,
    relative_attention_num_buckets: 32,
    tie_word_embeddings: false,
    vocab_size: 32128,
  });
  assert.equal([textLayers(config), config.tied, config.relativeMaxDistance], [12, false, 128]);
});

test("scale_decoder_outputs identifies v1.1 in files of transformers 5", async () => {
  const saved = { ...SIZES, tie_word_embeddings: true };
  assert.is((await read({ ...saved, scale_decoder_outputs: false })).tied, false);
  assert.is((await read({ ...saved, scale_decoder_outputs: true })).tied, true);
  const contradiction = read({ ...SIZES, tie_word_embeddings: false, scale_decoder_outputs: true });
  await refused(
    contradiction,
    /scale_decoder_outputs: expected false, by tie_word_embeddings, got true/,
  );
});

test("weights of hybrid search are read, checked, written and copied", async () => {
  const weights = { lambda: 2.62, k1: 0.9, b: 0.4 };
  const config = await read({ ...SIZES, retrieval_hybrid: weights });
  assert.equal(config.hybrid, weights);
  assert.not.ok("hybrid" in (await read(SIZES)));

  const original = join(folder, "hybrid");
  const written = async (saved: ModelConfig) => {
    mkdirSync(original, { recursive: true });
    writeFileSync(
      join(original, "config.json"),
      JSON.stringify({ ...SIZES, retrieval_hybrid: weights }),
    );
    await writeConfig(folder, saved, original);
    return JSON.parse(readFileSync(file, "utf8")).retrieval_hybrid;
  };
  const others = { lambda: 0, k1: 1.2, b: 1 };
  assert.equal(await written(config), weights);
  assert.equal(await written({ ...config, hybrid: others }), others);
  assert.is(await written({ ...config, hybrid: undefined }), undefined);

  const check = (hybrid: unknown, message: RegExp) =>
    refused(read({ ...SIZES, retrieval_hybrid: hybrid }), message);
  await check({ ...weights, lambda: -1 }, /: retrieval_hybrid\.lambda: expected .*>=0, got -1/);
  await check({ lambda: 1, b: 0.4 }, /: retrieval_hybrid\.k1: expected number, got nothing/);
  await check({ ...weights, b: 1.5 }, /: retrieval_hybrid\.b: expected .*<=1, got 1\.5/);
  await check({ ...weights, c: 1 }, /: retrieval_hybrid\.c: expected no key beyond/);
  await check(2.62, /: retrieval_hybrid: expected object, got 2\.62/);
});

test("a calibration of answers is read, checked and written", async () => {
  const weights = { likelihood: 1, margin: 2, attention: -0.5, length: -1, quoted: 0 };
  const calibration = calibrationOf(-2, weights, 0.1);
  const config = await read({ ...SIZES, answer_calibration: calibration });
  assert.equal(config.calibration, calibration);
  assert.not.ok("calibration" in (await read(SIZES)));
  const written = async (saved: ModelConfig) => {
    await writeConfig(folder, saved);
    return JSON.parse(readFileSync(file, "utf8")).answer_calibration;
  };
  assert.equal(await written(config), calibration);
  assert.is(await written({ ...config, calibration: undefined }), undefined);

  const check = (given: object, message: RegExp) =>
    refused(read({ ...SIZES, answer_calibration: { ...calibration, ...given } }), message);
  await check(
    { threshold: 2 },
    /: answer_calibration\.threshold: expected a number from 0 to 1, got 2/,
  );
  await check(
    { intercept: undefined },
    /: answer_calibration\.intercept: expected a number, got no/,
  );
  const { margin: _, ...others } = calibration.signals;
  await check(
    { signals: others },
    /: answer_calibration\.signals\.margin: expected \{ weight, curvature/,
  );
  await check({ bias: 1 }, /: answer_calibration\.bias: expected no key beyond/);
});

test("a pruning layer is read, checked and written", async () => {
  const { d_kv: headSize } = SIZES;
  const thresholds = Array.from({ length: 16 }, (_, i) => 3 - i);
  const layer = { weights: new Array<number>(headSize + 3).fill(0.5), thresholds };
  const config = await read({ ...SIZES, token_pruning: layer });
  assert.equal(config.pruning, layer);
  await writeConfig(folder, config);
  assert.equal(JSON.parse(readFileSync(file, "utf8")).token_pruning, layer);
  const check = (given: object, message: RegExp) =>
    refused(read({ ...SIZES, token_pruning: { ...layer, ...given } }), message);
  const expected = new RegExp(
    `: token_pruning: expected ${headSize + 3} weights and 16 descending`,
  );
  await check({ weights: [1, 2] }, expected);
  await check({ thresholds: thresholds.slice(1) }, expected);
  await check({ thresholds: [...thresholds].reverse() }, expected);
  await check({ weights: ["a"] }, /: token_pruning\.weights\.0: expected a number/);
});

test("keys without influence are ignored, and null means absent", async () => {
  const harmless = {
    _name_or_path: "t5-small",
    transformers_version: "4.30.0",
    torch_dtype: "float16",
    task_specific_params: { summarization: { num_beams: 4 } },
    n_positions: 512,
    use_cache: true,
    is_decoder: false,
    pruned_heads: {},
    num_decoder_layers: null,
    quantization_config: null,
  };
  assert.equal(await read({ ...SIZES, ...harmless }), await read(SIZES));
});

test("an unsupported value is an error that names its key", async () => {
  const check = (keys: object, message: RegExp) => refused(read({ ...SIZES, ...keys }), message);
  await check(
    { feed_forward_proj: "gated-silu" },
    /config\.json: feed_forward_proj: expected one of .*, got 'gated-silu'/,
  );
  await check({ model_type: "bart" }, /: model_type: expected one of "t5"\|"reatt", got 'bart'/);
  await check({ is_encoder_decoder: false }, /: is_encoder_decoder: expected true, got false/);
  await check({ tie_encoder_decoder: true }, /: tie_encoder_decoder: expected false, got true/);
  await check({ pruned_heads: { 0: [1] } }, /: pruned_heads/);
  await check({ d_model: undefined }, /: d_model: expected number, got nothing/);
  await check({ d_model: 0 }, /: d_model: expected number to be >=1, got 0/);
  await check({ d_kv: 2.5 }, /: d_kv: expected int, got 2\.5/);
  await check({ num_heads: "4" }, /: num_heads: expected number, got '4'/);
  await check({ num_layers: 1e9 }, /: num_layers: expected number to be <=1000, got 1000000000/);
  await check({ dropout_rate: 1 }, /: dropout_rate: expected number to be <1, got 1/);
  await check({ distillation_tau: 0 }, /: distillation_tau: expected number to be >0, got 0/);
  await check({ eos_token_id: [1] }, /: eos_token_id: expected number, got \[ 1 \]/);
  await check({ eos_token_id: 100 }, /: eos_token_id: expected a token from 0 to 99, got 100/);
  await check({ retrieval_layer: 5 }, /: retrieval_layer: expected a block from 0 to 4, got 5/);
  await check({ retrieval_layer: -1 }, /: retrieval_layer: expected number to be >=0, got -1/);
  await check({ retrieval_head: 3 }, /: retrieval_head: expected a head from 0 to 2, got 3/);
  await check(
    { retrieval_head: 1, retrieval_heads: 3 },
    /: retrieval_heads: expected at most 2, got 3/,
  );
  await check(
    { retrieval_heads: 2, retrieval_pooling: "eos" },
    /expected 1 with retrieval_pooling/,
  );
  await check(
    { relative_attention_max_distance: 16 },
    /: relative_attention_max_distance: expected more than half/,
  );
  await check(
    { dense_act_fn: "gelu_new" },
    /: dense_act_fn: expected relu, by feed_forward_proj, got 'gelu_new'/,
  );
  await check(
    { is_gated_act: true },
    /: is_gated_act: expected false, by feed_forward_proj, got true/,
  );
});

test("an unknown key is an error", async () => {
  const check = (keys: object, message: RegExp) => refused(read({ ...SIZES, ...keys }), message);
  await check(
    { rope_theta: 10_000 },
    /: rope_theta: expected no key beyond those of T5 and ReAtt, got 10000; remove/,
  );
  await check({ quantization_config: { bits: 8 } }, /: quantization_config: .* got \{ bits: 8 \}/);
  await check({ hidden_size: 8 }, /: hidden_size: /);
});

test("a file without a JSON object is an error", async () => {
  for (const text of ["", "{", "[]", "null", '"t5"']) {
    writeFileSync(file, text);
    await refused(readConfig(folder), /config\.json: expected a JSON object, got something else/);
  }
  await refused(
    readConfig(join(folder, "missing")),
    /missing\/config\.json: expected a JSON object, got ENOENT/,
  );
});

testWithShared("a written file is read back", async () => {
  const config = await readConfig(join(shared, "reference/reatt-v11"));
  const changed: ModelConfig = {
    ...config,
    retrievalAttention: { from: "joint", stack: 0, head: 2, heads: 2, tokenWeights: true },
    decoder: { ...config.decoder, copying: true },
    retrievalScale: 4.5,
    distillationTau: 0.01,
    padId: 5,
    noRepeatSize: 3,
    phraseQueries: true,
    extractive: true,
  };
  await writeConfig(folder, changed);
  assert.equal(await readConfig(folder), changed);
  const keys = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(
    [keys.model_type, keys.architectures, keys.is_encoder_decoder, keys.tie_word_embeddings],
    ["t5", ["T5ForConditionalGeneration"], true, false],
  );
});

test("floats stay floats: transformers 5 refuses 1 in place of 1.0", async () => {
  const original = join(folder, "floats");
  mkdirSync(original);
  const text = `{
    "model_type": "t5", "vocab_size": 100, "d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 32,
    "num_layers": 2, "initializer_factor": 1.0, "dropout_rate": 0.0, "layer_norm_epsilon": 1e-06,
    "classifier_dropout": 0.0, "retrieval_scale": 20.0,
    "task_specific_params": { "summarization": { "length_penalty": 2.0, "num_beams": 4 } }
  }`;
  writeFileSync(join(original, "config.json"), text);
  await writeConfig(folder, await readConfig(original), original);
  const written = readFileSync(file, "utf8");
  const floats = [
    ["initializer_factor", "1.0"],
    ["dropout_rate", "0.0"],
    ["layer_norm_epsilon", "0.000001"],
    ["classifier_dropout", "0.0"],
    ["retrieval_scale", "20.0"],
    ["length_penalty", "2.0"],
  ];
  for (const [key, number] of floats) assert.match(written, new RegExp(`"${key}": ${number}[,\n]`));
  for (const [key, number] of [
    ["num_layers", "2"],
    ["num_beams", "4"],
    ["pad_token_id", "0"],
  ])
    assert.match(written, new RegExp(`"${key}": ${number}[,\n]`));
  assert.equal(await readConfig(folder), await readConfig(original));
});

test("other keys are copied, except the data type", async () => {
  const original = join(folder, "original");
  mkdirSync(original);
  const keys = {
    ...SIZES,
    model_type: "reatt",
    torch_dtype: "float16",
    dtype: "float16",
    task_specific_params: { a: 1 },
  };
  const v5 = { tie_word_embeddings: true, scale_decoder_outputs: false };
  writeFileSync(join(original, "config.json"), JSON.stringify({ ...keys, ...v5 }));
  const config = await readConfig(original);
  await writeConfig(folder, config, original);
  assert.equal(await readConfig(folder), config);
  const written = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(written.task_specific_params, { a: 1 });
  assert.equal([written.tie_word_embeddings, written.scale_decoder_outputs], [false, false]);
  assert.not("torch_dtype" in written || "dtype" in written);
  await writeConfig(original, config, original); // onto itself
  assert.equal(await readConfig(original), config);
});

test.run();
