/** The tools of the Model Context Protocol, called by the official client. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { resolveOptions } from "../../src/options/resolve.ts";
import { SERVER_OPTIONS } from "../../src/server/options.ts";
import { serve } from "../../src/server/serve.ts";
import { moduleArguments } from "../support/node-program.ts";
import { PASSAGES, REPORT, send, startTestServer } from "./support.ts";

/** A document of three passages, a PDF with an address, and passages without a document. */
const GUIDE = [1, 2, 10].map((number) => ({
  id: `guide/install.md#${number}`,
  title: "Install",
  text: `Step ${number} of the installation is described here.`,
  document: "guide/install.md",
  metadata: {
    _source: "guide/install.md",
    _lines: `${number * 10}-${number * 10 + 4}`,
    year: 2024,
  },
}));
const DESCRIPTION = "Facts about engines, rivers and dams";
const server = await startTestServer({ title: "Facts", description: DESCRIPTION }, [
  ...[...PASSAGES, ...GUIDE].reverse(), // the order of the index is not that of documents
  REPORT,
]);
const COLLECTION = `Facts: ${DESCRIPTION}`;
const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)),
  stdio: () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [
        ...[...moduleArguments("src/cli/main.ts"), "mcp"],
        ...["--model", "models/reatt-mini", "--index", server.directory],
        ...["--title", "Facts", "--description", DESCRIPTION],
      ],
    }),
};
const QUESTION = "Who patented a steam engine in 1781?";
test.after(() => server.close());

// biome-ignore lint/suspicious/noExplicitAny: results of several tools, as JSON
type Result = any;

type Call = (
  tool: string,
  given: Record<string, unknown>,
) => Promise<{ isError: boolean | undefined; text: string; result: Result }>;

const callOf =
  (client: Client): Call =>
  async (tool, given) => {
    const called = await client.callTool({ name: tool, arguments: given });
    const { structuredContent, content, isError } = called;
    const [{ text }] = content as unknown as [{ text: string }];
    if (!isError) assert.equal(JSON.parse(text), structuredContent);
    return { isError, text, result: JSON.parse(isError ? "{}" : text) };
  };

for (const [name, createTransport] of Object.entries(transports))
  test(`the tools over ${name}`, async () => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(createTransport());
    try {
      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      assert.equal(names, ["search", "answer", "get", "multi_get", "status"]);
      for (const { description } of tools) assert.ok(description!.endsWith(COLLECTION));
      assert.ok(client.getInstructions()!.startsWith(`${COLLECTION}\n`));
      const call = callOf(client);
      await checkSearch(call);
      await checkAnswer(call);
      await checkDocuments(call);
      await checkStatus(call);
    } finally {
      await client.close();
    }
  });

/** Four bytes are about one token: an assistant reads these before each question. */
const MAX_TOOL_BYTES = 8_000; // 2,000 tokens

test("the schemas of the tools are those that every client takes", async () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transports.http());
  try {
    const { tools } = await client.listTools();
    assert.is(tools.length, 5);
    const compilers = [new Ajv({ strict: true }), new Ajv2020({ strict: true })];
    for (const { name, inputSchema, outputSchema } of tools)
      for (const { $schema: _, ...schema } of [inputSchema, outputSchema!]) {
        for (const compiler of compilers) compiler.compile(schema);
        for (const refused of ["$ref", "$defs", "pattern"])
          assert.not.ok(keysAndTexts(schema).includes(refused), `${name}: ${refused}`);
        assert.not.match(JSON.stringify(schema), /\(\?[=!]|"type":\[/);
      }
    const bytes = Buffer.byteLength(JSON.stringify(tools));
    assert.ok(bytes < MAX_TOOL_BYTES, `${bytes} bytes`);
    assert.equal(wherePossible(tools[0]!.inputSchema), ["string", "object"]);
  } finally {
    await client.close();
  }
});

/** All names and texts in a schema. */
function keysAndTexts(given: unknown): string[] {
  if (typeof given === "string") return [given];
  if (typeof given !== "object" || given === null) return [];
  return Object.entries(given).flatMap(([key, inner]) => [key, ...keysAndTexts(inner)]);
}

// biome-ignore lint/suspicious/noExplicitAny: a schema
const wherePossible = ({ properties }: any): string[] =>
  properties.where.anyOf.map(({ type }: { type: string }) => type);

async function checkSearch(call: Call): Promise<void> {
  const found = await call("search", { question: QUESTION, topK: 2 });
  const [best] = found.result.results;
  assert.is(best.id, "watt/1");
  assert.is(found.result.collection, COLLECTION);
  assert.equal(Object.keys(best).sort(), ["id", "metadata", "score", "text", "title"]);
  const filtered = await call("search", { question: QUESTION, where: "year = 2001" });
  assert.equal(idsOf(filtered.result.results), ["rhine"]);
  const nested = { or: [{ year: { lt: 1900 } }, { not: { lang: "en" } }] };
  const first = await call("search", { question: QUESTION, where: nested, topK: 1 });
  assert.equal(idsOf(first.result.results), ["watt/1"]);
  const [dam] = (await call("search", { question: "When was the dam completed?" })).result.results;
  assert.equal([dam.place, dam.link], ["page 3", "https://example.org/report.pdf#page=3"]);
  assert.equal(Object.keys(dam.metadata), ["url"]); // the others are in the place
  const sent = { question: QUESTION, topK: "2", where: null, granularity: "" };
  assert.is((await call("search", sent)).result.results.length, 2);
  const again = await call("search", { question: QUESTION, topK: 1, where: "" });
  assert.is(again.result.results.length, 1);
}

async function checkAnswer(call: Call): Promise<void> {
  const { result } = await call("answer", { question: QUESTION });
  assert.is(result.answer.trim(), "James Watt");
  const response = await send(`${server.url}/v1/answer`, { question: QUESTION });
  const direct = (await response.json()) as Result;
  assert.is(result.confidence, direct.confidence);
  for (const internal of ["tokenIds", "id", "passages"]) assert.is(internal in result, false);
  assert.equal(idsOf(result.evidence), idsOf(direct.evidence));
  assert.is(result.evidence[0].text, direct.evidence[0].text);
  for (const internal of ["start", "signals"]) assert.is(internal in result.evidence[0], false);
  assert.ok(result.evidence.every(({ score }: { score: number }) => score >= 0 && score <= 1));
  for (const bad of [{}, { question: " " }, { question: "word ".repeat(1_500) }]) {
    const failed = await call("answer", bad).catch(() => ({ isError: true }));
    assert.is(failed.isError, true);
  }
}

async function checkDocuments(call: Call): Promise<void> {
  const get = async (given: Record<string, unknown>) => (await call("get", given)).result;
  const guide = await get({ path: "guide/install.md" });
  assert.equal(
    idsOf(guide.passages),
    GUIDE.map(({ id }) => id),
  );
  assert.is(guide.omitted, 0);
  assert.is(guide.passages[0].place, "lines 10 to 14");
  const part = await get({ path: "guide/install.md", lines: "14-20" });
  assert.equal(idsOf(part.passages), ["guide/install.md#1", "guide/install.md#2"]);
  const cut = await get({ path: "guide/install.md", maxBytes: 100 });
  assert.equal([idsOf(cut.passages), cut.omitted], [["guide/install.md#1"], 2]);
  assert.equal(idsOf((await get({ path: "watt/1" })).passages), ["watt/1"]);
  assert.is((await get({ path: "report.pdf" })).link, "https://example.org/report.pdf");
  const misspelt = await call("get", { path: "guide/instal.md" });
  assert.match(misspelt.text, /no document or passage .* did you mean guide\/install\.md\?/);
  assert.match((await call("get", { path: "install" })).text, "did you mean guide/install.md?");
  const unlined = await call("get", { path: "report.pdf", lines: "1" });
  assert.match(unlined.text, /have no lines/);

  const several = await call("multi_get", { patterns: ["*.md", "*.pdf", "!report.*"] });
  assert.equal(namesOf(several.result.documents), ["guide/install.md"]);
  const few = await call("multi_get", { patterns: ["*"], maxBytes: 100 });
  assert.equal(few.result.documents[0].omitted, 2);
  assert.equal(few.result.omitted, ["report.pdf"]);
  assert.equal((await call("multi_get", { patterns: ["none*"] })).result.documents, []);
}

async function checkStatus(call: Call): Promise<void> {
  const { result } = await call("status", {});
  const { title, description, passages, documents, fields } = result;
  assert.equal([title, description, passages, documents], ["Facts", DESCRIPTION, 7, 2]);
  const year = fields.find(({ name }: { name: string }) => name === "year");
  assert.equal(year, {
    ...{ name: "year", type: "number", passages: 5, smallest: 1781, largest: 2024 },
    values: [
      { value: 2024, passages: 3 },
      { value: 1781, passages: 1 },
      { value: 2001, passages: 1 },
    ],
  });
  assert.equal(result, await (await fetch(`${server.url}/v1/status`)).json());
}

const idsOf = (passages: readonly { id: string }[]): string[] => passages.map(({ id }) => id);
const namesOf = (all: readonly { document: string }[]): string[] =>
  all.map(({ document }) => document);

test("a call that its client cancels is no defect", async () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transports.http());
  server.lines.length = 0;
  for (const wait of [0, 5, 50]) {
    const stop = new AbortController();
    const call = { name: "answer", arguments: { question: `${QUESTION} ${wait}` } };
    const called = client.callTool(call, { signal: stop.signal });
    setTimeout(() => stop.abort(), wait);
    await called.catch(() => {});
  }
  const { isError } = await callOf(client)("status", {}); // after what was cancelled
  assert.is(isError, undefined);
  await client.close();
  assert.equal(
    server.lines.filter(({ level }) => level === "error"),
    [],
  );
});

test("a collection names its tools, describes them and instructs the assistant", async () => {
  const { model, index } = server;
  const assistant = {
    instructions: "Ask before you quote.",
    tools: { search: { name: "search_facts", description: "Facts." }, get: { name: "facts" } },
  };
  const options = resolveOptions(SERVER_OPTIONS, { port: 0, assistant });
  const own = await serve({ ...options, model, index, version: "1", log: () => {} });
  const client = new Client({ name: "test", version: "1.0.0" });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(`${own.url}/mcp`)));
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    assert.equal(names, ["search_facts", "answer", "facts", "multi_get", "status"]);
    assert.is(tools[0]!.description, "Facts.");
    assert.is(client.getInstructions(), assistant.instructions);
    const { result } = await callOf(client)("search_facts", { question: QUESTION });
    assert.is(result.results[0].id, "watt/1");
  } finally {
    await client.close();
    await own.stop();
  }
});

test.run();
