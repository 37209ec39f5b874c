/** The retriever with the real LangChain.js. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunnableLambda, RunnableSequence } from "@langchain/core/runnables";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReattRetriever } from "../../src/adapters/langchain.ts";
import { InputError } from "../../src/io/errors.ts";
import { ReAtt } from "../../src/reatt.ts";

const directory = mkdtempSync(join(tmpdir(), "reatt-langchain-"));
const model = await ReAtt.load();
const passages = [
  { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
  {
    ...{ id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
    metadata: { source: "rivers.md", year: 2024 },
  },
];
const index = await model.index(passages, { directory });
test.after(async () => {
  await index[Symbol.asyncDispose]();
  await model.close();
  rmSync(directory, { recursive: true });
});

const QUESTION = "Where does the Rhine flow?";

test("documents are the passages that retrieve finds", async () => {
  const retriever = new ReattRetriever({ model, index, retrieve: { topK: 2, hybrid: true } });
  const hits = await model.retrieve(QUESTION, index, { topK: 2, hybrid: true });
  const documents = await retriever.invoke(QUESTION);
  assert.equal(
    documents.map(({ id, pageContent, metadata }) => ({ id, text: pageContent, ...metadata })),
    hits.map(({ metadata, ...hit }) => ({ ...hit, ...metadata })),
  );
  assert.equal(Object.keys(documents[0]!.metadata).sort(), ["score", "source", "title", "year"]);
});

test("documents can be the blocks that answer", async () => {
  const retriever = new ReattRetriever({ model, index, blocks: true });
  const { evidence } = await model.answer(QUESTION, index, { topK: 4 });
  const documents = await retriever.invoke(QUESTION);
  assert.ok(evidence.length > 0);
  assert.equal(
    documents.map(({ id, pageContent, metadata }) => [id, pageContent, metadata.score]),
    evidence.map(({ id, text, score }) => [id, text, score]),
  );
  const { kind, title, year, source } = documents[0]!.metadata;
  assert.equal([kind, title, year, source], ["paragraph", "Rhine", 2024, "rivers.md"]);
});

test("it is a Runnable: in a chain, in a batch, with callbacks", async () => {
  const ended: number[] = [];
  const retriever = new ReattRetriever({
    model,
    index,
    retrieve: { topK: 1 },
    tags: ["mine"],
    callbacks: [{ handleRetrieverEnd: (documents) => void ended.push(documents.length) }],
  });
  const chain = RunnableSequence.from([
    retriever,
    RunnableLambda.from((documents: { id?: string }[]) => documents.map(({ id }) => id)),
  ]);
  assert.equal(await chain.invoke(QUESTION), ["rhine"]);
  const batch = await retriever.batch([QUESTION, "Where does the lion live?"]);
  assert.equal(
    batch.map(([document]) => document!.id),
    ["rhine", "lion"],
  );
  assert.equal(ended, [1, 1, 1]);
  assert.equal(retriever.tags, ["mine"]);
});

test("a retriever without a model or an index: one line", () => {
  for (const [given, message] of [
    [
      undefined,
      /^new ReattRetriever: expected \{ model, index, k, blocks, retrieve \}, got nothing/,
    ],
    [{}, /^model: expected a loaded model, got nothing; load it: await ReAtt\.load\(MODEL\)$/],
    [{ model }, /^index: expected an open index, got nothing; open it/],
    [{ model, index: Promise.resolve(index) }, /^index: .*; write await before the call$/],
  ] as const)
    assert.throws(
      () => new ReattRetriever(given as never),
      (error: Error) => error instanceof InputError && message.test(error.message),
    );
});

test("an error of reatt is the error of the chain", async () => {
  const retriever = new ReattRetriever({ model, index });
  try {
    await retriever.invoke(" ");
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /question: expected a question, got no text/);
  }
});

test("a signal, and a time limit, end the call with their reason", async () => {
  const retriever = new ReattRetriever({ model, index });
  const reasonOf = (options: { signal?: AbortSignal; timeout?: number }): Promise<unknown> =>
    retriever.invoke(QUESTION, options).catch((error: unknown) => error);
  const enough = new Error("enough");
  assert.is(await reasonOf({ signal: AbortSignal.abort(enough) }), enough);
  const later = new AbortController();
  const stopped = reasonOf({ signal: later.signal });
  later.abort(enough);
  assert.is(await stopped, enough);
  const chain = RunnableSequence.from([retriever, new RunnableLambda({ func: () => "none" })]);
  const ended = chain.invoke(QUESTION, { signal: AbortSignal.abort(enough) });
  assert.is(await ended.catch((error: unknown) => error), enough);
  let given: AbortSignal | undefined;
  const waiting = {
    retrieve: (_: unknown, __: unknown, { signal }: { signal?: AbortSignal }) =>
      new Promise((_, reject) => {
        given = signal;
        signal!.addEventListener("abort", () => reject(signal!.reason));
      }),
  } as unknown as ReAtt;
  const slow = new ReattRetriever({ model: waiting, index });
  const awake = setTimeout(() => {}, 60_000); // the timer of a time limit keeps no process
  const error = await slow.invoke(QUESTION, { timeout: 20 }).catch((reason: unknown) => reason);
  clearTimeout(awake);
  assert.is(error, given!.reason);
  assert.is((error as Error).name, "TimeoutError");
});

test("it returns four documents unless k says otherwise, and refuses unknown options", async () => {
  const counts: unknown[] = [];
  const counting = {
    retrieve: async (_: unknown, __: unknown, given: { topK: number }) => {
      counts.push(given.topK);
      return [];
    },
  };
  const any = counting as unknown as ReAtt;
  for (const given of [{}, { k: 7 }, { retrieve: { topK: 9 } }])
    await new ReattRetriever({ model: any, index, ...given }).invoke(QUESTION);
  assert.equal(counts, [4, 7, 9]);
  for (const [given, message] of [
    [{ topK: 3 }, /expected options among model, index, k, .*, got "topK"/],
    [{ k: 3, retrieve: { topK: 3 } }, /expected k or retrieve\.topK, got both/],
  ] as const)
    assert.throws(
      () => new ReattRetriever({ model, index, ...given }),
      (error: Error) => error instanceof InputError && message.test(error.message),
    );
});

test("metadata of the user is kept, whatever its names", async () => {
  const metadata = { score: "A+", title: "mine", document: "own" };
  const hit = { id: "1", title: "Its title", text: "text", score: 0.5, document: "d", metadata };
  const found = { retrieve: async () => [hit] } as unknown as ReAtt;
  const [document] = await new ReattRetriever({ model: found, index }).invoke(QUESTION);
  assert.equal(document!.metadata, metadata);
});

test.run();
