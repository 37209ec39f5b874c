/** The reranking model and the tool with the real AI SDK. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText, rerank, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import {
  contextTool,
  rerankingModel,
  type SearchToolOptions,
  searchTool,
} from "../../src/adapters/ai-sdk.ts";
import { InputError } from "../../src/io/errors.ts";
import { ReAtt } from "../../src/reatt.ts";

const directory = mkdtempSync(join(tmpdir(), "reatt-ai-sdk-"));
const model = await ReAtt.load();
const passages = [
  { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
  { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
  { id: "empty", title: "", text: "" },
];
const index = await model.index(passages, { directory });
test.after(async () => {
  await index[Symbol.asyncDispose]();
  await model.close();
  rmSync(directory, { recursive: true });
});

const query = "Where does the Rhine flow?";

test("rerank gives the scores of retrieve by the model alone", async () => {
  const hits = await model.retrieve(query, index, { hybrid: false });
  assert.equal(await model.rerank(query, passages), hits);
  const texts = { model: rerankingModel(model), query, documents: passages };
  const { ranking, rerankedDocuments } = await rerank(texts);
  assert.equal(
    ranking.map(({ score }) => score),
    hits.map(({ score }) => score),
  );
  assert.equal(
    rerankedDocuments.map(({ id }) => id),
    hits.map(({ id }) => id),
  );
});

test("documents are texts, objects, or objects of another form", async () => {
  const texts = passages.map(({ text }) => text);
  const few = await rerank({ model: rerankingModel(model), query, documents: texts, topN: 1 });
  assert.equal(
    few.ranking.map(({ originalIndex }) => originalIndex),
    [1],
  );
  const others = [{ body: "The lion lives in Africa." }, { body: "The Rhine flows to the sea." }];
  const { rerankedDocuments } = await rerank({
    model: rerankingModel(model),
    query,
    documents: others,
  });
  assert.is(rerankedDocuments[0], others[1]);
});

test("a stopped call ends with the reason", async () => {
  const abortSignal = AbortSignal.abort(new Error("enough"));
  const call = { model: rerankingModel(model), query, documents: ["a", "b"], maxRetries: 0 };
  try {
    await rerank({ ...call, abortSignal });
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /enough/);
  }
});

test("wrong arguments: one line", async () => {
  const any = (value: unknown): never => value as never;
  const call = { documents: { type: "text" as const, values: ["a"] }, query };
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const ranking = rerankingModel(model);
  const documents = (values: unknown) => ({ ...call, documents: { type: "object", values } });
  for (const [run, message] of [
    [() => rerankingModel(any(undefined)), /^model: .* nothing; load it: await ReAtt\.load/],
    [() => rerankingModel(any(Promise.resolve(model))), /^model: .*; write await before the call$/],
    [() => ranking.doRerank(any(undefined)), /^doRerank: expected \{ documents, query \}/],
    [() => ranking.doRerank(any({ query })), /^documents: expected \{ type, values \}/],
    [() => ranking.doRerank(any(documents("a"))), /^documents\.values: expected a list, got 'a'/],
    [
      () => ranking.doRerank(any(documents([5]))),
      /^documents\.values\[0\]: expected text or an obj/,
    ],
    [() => ranking.doRerank(any(documents([cycle]))), /^documents\.values\[0\]: .* that JSON can/],
    [() => ranking.doRerank({ ...call, query: any(5) }), /^question: expected a question as text/],
    [() => searchTool(any(5), index), /^model: expected a loaded model, got 5/],
    [() => searchTool(model, any("index")), /^index: expected an open index, got 'index'/],
    [() => searchTool(model, index, any(null)), /^options: expected an object, got null/],
    [() => searchTool(model, index).execute(any(undefined)), /^input: expected \{ question \}/],
    [() => searchTool(model, index).execute(any({ question: [query] })), /^question: expected a q/],
  ] as const) {
    const error = await (async () => run())().catch((reason: unknown) => reason);
    assert.instance(error, InputError);
    assert.match((error as InputError).message, message);
  }
  const [hit] = await searchTool(model, index, { topK: 1 }).execute({ question: query });
  assert.is(hit!.id, "rhine");
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

test("a language model may filter by the fields that the tool names", async () => {
  const [lion, rhine] = passages as [(typeof passages)[0], (typeof passages)[0]];
  const dated = [
    { ...lion, metadata: { year: 2019, team: "Zoo" } },
    { ...rhine, metadata: { year: 2024, team: "Rivers" } },
  ];
  const folder = join(directory, "dated");
  await using some = await model.index(dated, { directory: folder });
  const ids = async (where?: string, options: SearchToolOptions = {}) => {
    const tool = searchTool(model, some, { filters: { year: "of the text" }, ...options });
    return (await tool.execute({ question: query, where })).map(({ id }) => id);
  };
  assert.equal((await ids()).length, 2);
  assert.equal((await ids("")).length, 2); // as language models leave it out
  assert.equal(await ids("year < 2020"), ["lion"]);
  assert.equal(await ids("year < 2020", { where: { team: "Rivers" } }), []);
  assert.equal(await ids("year > 2020", { where: 'team = "Rivers"' }), ["rhine"]);
  const tool = searchTool(model, some, { filters: { year: "of the text" } });
  const { properties } = z.toJSONSchema(tool.inputSchema);
  assert.match(JSON.stringify(properties), /of year \(of the text\)/);
  const wrong = await ids("month = 1").catch((error: unknown) => error);
  assert.match((wrong as Error).message, /year/);
});

test("a tool gives the context of a question", async () => {
  const tool = contextTool(model, index, { maxTokens: 40, description: "Rivers." });
  assert.is(tool.description, "Rivers.");
  const { text } = await model.context(query, index, { maxTokens: 40 });
  assert.is(await tool.execute({ question: query }, {}), text);
  assert.match(text, "[1] Rhine\nThe Rhine flows");
  const stopped = tool.execute({ question: query }, { abortSignal: AbortSignal.abort() });
  assert.is(await stopped.catch(() => "stopped"), "stopped");
});

test("a language model calls the tool and receives passages", async () => {
  let turn = 0;
  const language = new MockLanguageModelV3({
    doGenerate: async () =>
      turn++ === 0
        ? {
            content: [
              {
                type: "tool-call",
                toolCallId: "1",
                toolName: "search",
                input: JSON.stringify({ question: query }),
              },
            ],
            finishReason: { unified: "tool-calls", raw: undefined },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: "text", text: "To the North Sea." }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          },
  });
  const { steps, text } = await generateText({
    model: language,
    tools: { search: searchTool(model, index, { topK: 1, description: "Knows rivers." }) },
    prompt: query,
    stopWhen: stepCountIs(3),
  });
  assert.is(text, "To the North Sea.");
  assert.equal(steps[0]!.toolResults[0]!.output, await model.retrieve(query, index, { topK: 1 }));
  const [given] = language.doGenerateCalls[0]!.tools!;
  assert.is(given!.type === "function" && given!.description, "Knows rivers.");
  const schema = given!.type === "function" ? given!.inputSchema : {};
  assert.equal(schema.required, ["question"]);
});

test.run();
