/**
 * Compares this library with the authors' released code on PyTorch: every value from a question's
 * text to its answer.
 *
 * `test/fixtures/reference` is a small model that every clone has. The two whole models are in
 * ../shared/reference; their tests are skipped where that folder is absent.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import type { ReadingStates } from "../../src/decoder/fusion.ts";
import { openReaderSession } from "../../src/decoder/reader-session.ts";
import { traceJoint } from "../../src/encoder/joint-session.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { positionBuckets } from "../../src/model/layers/relative-position.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import { compile } from "../../src/tensor/session.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  cutForReading,
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { assertNear } from "../support/arrays.ts";
import {
  REFERENCE_MODELS,
  referenceFolder,
  writeReferenceModel,
} from "../support/reference-model.ts";

const TOKENIZER = resolve("test/fixtures/t5/spiece.model");
const TOLERANCE = 1e-5; // both sides are float32; measured below 1e-6
const SCORE_TOLERANCE = 1e-3; // of a sum over question tokens; scores are some tens

interface Expected {
  readonly max_length: number;
  readonly doc_topk: number;
  readonly documents: readonly { id: string; token_ids: number[] }[];
  readonly queries: readonly Query[];
  /** The ids whose logits the file has. Default: the first ids of the vocabulary. */
  readonly logit_ids?: readonly number[];
}

interface Query {
  readonly text: string;
  readonly token_ids: number[];
  readonly official_top10: readonly (readonly [id: string, score: number])[];
  readonly read_doc_ids: readonly string[];
  readonly reader_input_ids?: readonly number[][] | null;
  /** With the start token. */
  readonly greedy_token_ids: readonly number[];
  readonly greedy_max_logits: readonly number[];
}

for (const [model, weightsFile] of [
  ...REFERENCE_MODELS.map((model) => [model, "model.safetensors"] as const),
  ["reatt-v11", "pytorch_model.bin"] as const,
]) {
  const source = referenceFolder(model);
  if (existsSync(source)) await compare(`${model}, ${weightsFile}`, source, weightsFile);
  else test.skip(`${model}, ${weightsFile}: ${source} is not here`);
}

async function compare(name: string, source: string, weightsFile: string): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), "reatt-reference-"));
  const folder = join(workspace, "model");
  mkdirSync(folder);
  writeReferenceModel(source, folder, weightsFile);

  const expected: Expected = JSON.parse(readFileSync(join(source, "expected.json"), "utf8"));
  await using numbers = await openSafetensors(join(source, "expected.safetensors"));
  const numbersOf = new Map<string, Float32Array>();
  for (const key of numbers.tensors.keys()) numbersOf.set(key, await numbers.read(key));

  const config = await readConfig(folder);
  const weights = await loadWeights(folder, config);
  const encoder = await openRetrieverSession(config, { weights });
  test.after(async () => {
    await encoder[Symbol.asyncDispose]();
    rmSync(workspace, { recursive: true });
  });
  const tokenizer = await loadTokenizer(TOKENIZER);
  const passages = new Map<string, number[]>();
  for await (const passage of readPassages(join(source, "corpus.jsonl")))
    passages.set(passage.id, passageIds(tokenizer, passage, expected.max_length));

  test(`${name}: token ids`, () => {
    for (const { id, token_ids } of expected.documents) assert.equal(passages.get(id), token_ids);
    for (const query of expected.queries) {
      assert.equal(retrievalQuestionIds(tokenizer, query.text), query.token_ids);
      const inputs = query.reader_input_ids ?? []; // the last ones
      const first = query.read_doc_ids.length - inputs.length;
      for (const [i, id] of query.read_doc_ids.slice(first).entries()) {
        const question = readingQuestionIds(query.token_ids);
        const cut = cutForReading(question, passages.get(id)!, expected.max_length);
        const ids = [...cut.question, ...cut.passage];
        assert.equal(ids, inputs[i]!.slice(0, ids.length));
        assert.ok(inputs[i]!.slice(ids.length).every((padding) => padding === 0));
      }
    }
  });

  test(`${name}: passage keys and question vectors`, async () => {
    const ids = expected.documents.map(({ id }) => passages.get(id)!);
    const keys = await encodeSequences(encoder, config, ids, "keys");
    for (const [i, { id }] of expected.documents.entries())
      assertNear(keys[i]!, numbersOf.get(`keys.${id}`)!, TOLERANCE, `keys of ${id}`);
    const questions = expected.queries.map(({ text }) => retrievalQuestionIds(tokenizer, text));
    const vectors = await encodeSequences(encoder, config, questions, "queries");
    for (const [i, own] of vectors.entries())
      assertNear(own, numbersOf.get(`query_vectors.${i}`)!, TOLERANCE, `question ${i}`);
  });

  /** A question and the passages that the release read with it, as the lower layers leave them. */
  async function lowerStates(query: Query): Promise<ReadingStates> {
    const question = readingQuestionIds(retrievalQuestionIds(tokenizer, query.text));
    const cut = query.read_doc_ids.map(
      (id) => cutForReading(question, passages.get(id)!, expected.max_length).passage,
    );
    const [ofQuestion, ...ofPassages] = await encodeSequences(
      encoder,
      config,
      [question, ...cut],
      "states",
    );
    return { question: ofQuestion!, passages: ofPassages };
  }

  test(`${name}: encoder states of question and passage together`, async () => {
    await using upper = await compile(traceJoint(config), { weights });
    for (const [i, query] of expected.queries.entries()) {
      const reference = numbersOf.get(`encoder_hidden.${i}`);
      if (!reference) continue; // only the first questions' states were written down
      const { question, passages } = await lowerStates(query);
      const pairSize = expected.max_length * config.modelSize;
      const last = passages.slice(-reference.length / pairSize); // the last ones
      for (const [pair, passage] of last.entries()) {
        const length = (question.length + passage.length) / config.modelSize;
        const { states } = await upper.run(
          {
            states: {
              data: Float32Array.of(...question, ...passage),
              shape: [1, length, config.modelSize],
            },
            mask: { data: new Float32Array(length).fill(1), shape: [1, length] },
            buckets: positionBuckets(config, "encoder", length),
          },
          ["states"],
        );
        const start = pair * pairSize;
        assertNear(states.data, reference.subarray(start, start + states.data.length), TOLERANCE);
      }
    }
  });

  test(`${name}: logits of the greedy answer`, async () => {
    await using reader = await openReaderSession(config, { weights });
    for (const [i, query] of expected.queries.entries()) {
      const fused = await reader.fuse([await lowerStates(query)]);
      const reference = numbersOf.get(`logits.${i}`); // [steps, ids]
      const columns = reference && reference.length / query.greedy_max_logits.length;
      let past = reader.start(1);
      for (const [at, token] of query.greedy_token_ids.slice(0, -1).entries()) {
        const ids = { data: Int32Array.of(token), shape: [1, 1] };
        const parents = { data: Int32Array.of(0), shape: [1] };
        const step = await reader.step(fused, { ids, parents, past });
        past = step.past;
        const logits = step.logits.data;
        const largest = Math.max(...logits);
        assert.is(logits.indexOf(largest), query.greedy_token_ids[at + 1]);
        assertNear([largest], [query.greedy_max_logits[at]!], TOLERANCE, "largest logit");
        if (reference && columns) {
          const row = reference.subarray(at * columns, (at + 1) * columns);
          const own = expected.logit_ids?.map((id) => logits[id]!) ?? logits.subarray(0, columns);
          assertNear(own, row, TOLERANCE, `logits of step ${at}`);
        }
      }
    }
  });

  test(`${name}: the passages found, their scores, and the answers`, async () => {
    await using reatt = await ReAtt.load(folder);
    await using index = await reatt.index(readPassages(join(source, "corpus.jsonl")), {
      directory: join(workspace, "index"),
      maxPassageTokens: expected.max_length,
    });
    const questions = expected.queries.map(({ text }) => text);
    const found = await hitLists(reatt.retrieve(questions, index, { topK: 10 }));
    for (const [i, query] of expected.queries.entries()) {
      assert.equal(
        found[i]!.map(({ id }) => id),
        query.official_top10.map(([id]) => id),
      );
      for (const [rank, [id, sum]] of query.official_top10.entries()) {
        const difference = Math.abs(found[i]![rank]!.score * query.token_ids.length - sum);
        assert.ok(difference < SCORE_TOLERANCE, `${id} for question ${i}: ${difference}`);
      }
    }
    const replies = reatt.answer(questions, index, {
      topK: expected.doc_topk,
      readTopK: expected.doc_topk,
      maxInputTokens: expected.max_length,
      maxAnswerTokens: expected.queries[0]!.greedy_max_logits.length,
    });
    let i = 0;
    for await (const reply of replies) {
      const query = expected.queries[i++]!;
      assert.equal(
        reply.passages.map(({ id }) => id),
        query.read_doc_ids,
      );
      assert.equal(reply.tokenIds, query.greedy_token_ids.slice(1));
    }
    assert.is(i, questions.length);
  });
}

test.run();
