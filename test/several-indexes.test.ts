/** Questions to several indexes of the shipped model, in the library and over HTTP. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { resolveOptions } from "../src/options/resolve.ts";
import { ReAtt } from "../src/reatt.ts";
import { joinIndexes } from "../src/retrieval/places/joined-index.ts";
import { SERVER_OPTIONS } from "../src/server/options.ts";
import { serve } from "../src/server/serve.ts";

const ANIMALS = [
  { id: "1", title: "Lion", text: "The lion lives in Africa and in India.", document: "a.md" },
  { id: "2", title: "Cat", text: "Cats purr and sleep up to twenty hours a day." },
];
const RIVERS = [
  { id: "1", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
  { id: "2", title: "Nile", text: "The Nile flows through Africa to the Mediterranean." },
  { id: "3", title: "List", text: "Rivers are listed here.", document: "a.md" },
];
const QUESTION = "Where does the Rhine flow?";

const folder = mkdtempSync(join(tmpdir(), "reatt-several-"));
const at = (name: string): string => join(folder, name);
const model = await ReAtt.load("models/reatt-mini");
const animals = await model.index(ANIMALS, { directory: at("animals"), keepStates: true });
const rivers = await model.index(RIVERS, { directory: at("rivers"), maxPassageTokens: 256 });
const both = [animals, rivers];
const all = [
  ...ANIMALS.map((passage) => ({ ...passage, id: `animals ${passage.id}` })),
  ...RIVERS.map((passage) => ({ ...passage, id: `rivers ${passage.id}` })),
].map(({ document, ...passage }) => passage);
const merged = await model.index(all, { directory: at("merged") });
test.after(async () => {
  for (const index of [animals, rivers, merged]) await index.close();
  await model.close();
  rmSync(folder, { recursive: true });
});

test("the hits and probabilities of one index of all passages", async () => {
  for (const hybrid of [undefined, false] as const)
    for (const question of [QUESTION, "Which animals live in Africa?"]) {
      const hits = await model.retrieve(question, both, { hybrid, explain: true });
      const expected = await model.retrieve(question, merged, { hybrid, explain: true });
      assert.equal(
        hits.map(({ id, collection, score, scores }) => [`${collection} ${id}`, score, scores]),
        expected.map(({ id, score, scores }) => [id, score, scores]),
      );
    }
});

test("hits, evidence, source and context say their collection", async () => {
  const reply = await model.answer(QUESTION, both);
  assert.is(reply.answer, (await model.answer(QUESTION, merged)).answer);
  assert.equal([reply.passages[0]!.collection, reply.passages[0]!.id], ["rivers", "1"]);
  assert.is(reply.evidence[0]!.collection, "rivers");
  assert.is(reply.source!.collection, "rivers");
  const { sources } = await model.context(QUESTION, both);
  assert.equal([sources[0]!.collection, sources[0]!.id], ["rivers", "1"]);
  assert.is(new Set(sources.map(({ collection, id }) => `${collection} ${id}`)).size, 5);
  const [hit] = await model.retrieve(QUESTION, both, { where: { collection: "animals" } });
  assert.is(hit!.collection, "animals");
});

test("a hit is explained in its own index", async () => {
  const [hit] = await model.retrieve(QUESTION, both, { explain: true });
  const own = await model.explain(QUESTION, { id: "1" }, rivers);
  assert.equal(await model.explain(QUESTION, hit!, both), own);
  assert.is(own.score, hit!.scores!.similarity);
  const first = await model.explain(QUESTION, { id: "1" }, both);
  assert.equal(first, await model.explain(QUESTION, { id: "1" }, animals));
});

test("over HTTP: conditions, documents, changes and the status name collections", async () => {
  await using index = joinIndexes([
    await model.openIndex(at("animals")),
    await model.openIndex(at("rivers"), { collection: "waters" }),
  ]);
  const options = resolveOptions(SERVER_OPTIONS, { port: 0, writable: true });
  const server = await serve({ ...options, model, index, version: "1", log: () => {} });
  const call = async (path: string, body?: object, method = body ? "POST" : "GET") => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: results of several routes, as JSON
    return (await response.json()) as any;
  };
  try {
    const where = 'collection = "waters"';
    const { results } = await call("/v1/retrieve", { question: "Africa", where });
    assert.equal(
      [...new Set(results.map((hit: { collection: string }) => hit.collection))],
      ["waters"],
    );
    const answer = await call("/v1/answer", { question: QUESTION });
    assert.is(answer.evidence[0].collection, "waters");
    const explained = await call("/v1/explain", {
      question: QUESTION,
      passages: [{ id: "1", collection: "waters" }],
    });
    assert.is(
      explained.results[0].score,
      (await model.explain(QUESTION, { id: "1" }, rivers)).score,
    );
    assert.match((await call("/v1/get", { path: "a.md" })).error.message, /animals, waters; give/);
    const document = await call("/v1/get", { path: "a.md", collection: "waters" });
    assert.equal([document.collection, document.passages[0].title], ["waters", "List"]);
    assert.is((await call("/v1/get", { path: "3" })).passages[0].collection, "waters");
    assert.match(
      (await call("/v1/get", { path: "1", collection: "x" })).error.message,
      /there are/,
    );
    assert.is((await call("/v1/multi-get", { patterns: ["a.md"] })).documents.length, 2);
    const status = await call("/v1/status");
    assert.equal(
      status.collections.map((one: Record<string, unknown>) => [
        one.name,
        one.passages,
        one.documents,
      ]),
      [
        ["animals", 2, 1],
        ["waters", 3, 1],
      ],
    );
    assert.is(status.title, "animals, waters");
    assert.is(status.fields[0].name, "collection");
    const passages = [{ id: "4", title: "Po", text: "The Po flows to the Adriatic Sea." }];
    const refused = await call("/v1/passages", { passages }, "PUT");
    assert.match(refused.error.message, /give collection, one of animals, waters/);
    const put = { passages, collection: "waters" };
    assert.equal(await call("/v1/passages", put, "PUT"), { passages: 4 });
    assert.equal(await call("/v1/passages/4?collection=waters", undefined, "DELETE"), {
      passages: 3,
    });
  } finally {
    await server.stop();
  }
});

test.run();
