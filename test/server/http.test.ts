/** The HTTP interface, asked by a real client. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import { REPLY, RETRIEVAL } from "../../src/server/service/results.ts";
import { runCaptured } from "../cli/support.ts";
import { PASSAGES, send, startTestServer } from "./support.ts";

const server = await startTestServer({ writable: true });
const folder = mkdtempSync(join(tmpdir(), "reatt-http-"));
test.after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const QUESTION = "Who patented a steam engine in 1781?";
const ask = (path: string, body: unknown, headers?: Record<string, string>) =>
  send(`${server.url}${path}`, body, headers ? { headers } : {});

const json = async (response: Response) => JSON.parse(await response.text());

/** The code and the status of an error, whose form is checked. */
async function errorOf(response: Response): Promise<[status: number, code: string, text: string]> {
  const { error, ...rest } = await json(response);
  assert.equal(Object.keys(rest), []);
  assert.equal(Object.keys(error), ["code", "message"]);
  assert.is(error.message.includes(server.directory), false);
  assert.is(error.message.includes(process.cwd()), false);
  return [response.status, error.code, error.message];
}

interface Event {
  readonly event: string;
  readonly data: { readonly text: string };
}

/** The events of a stream, as the HTML standard reads them. */
function parseEvents(text: string): Event[] {
  return text
    .split("\n\n")
    .filter(Boolean)
    .map((block) => {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      return { event: fields.event, data: JSON.parse(fields.data) };
    });
}

/** As the model writes: it has no upper case. The reply quotes the passage. */

test("an answer is the object that reatt answer --json prints", async () => {
  const response = await ask("/v1/answer", { question: QUESTION, topK: 3, readTopK: 2 });
  assert.is(response.status, 200);
  const reply = await json(response);
  const { stdout } = await runCaptured([
    ...["answer", "--model", "models/reatt-mini", "--index", server.directory],
    ...["--question", QUESTION, "--top-k", "3", "--read-top-k", "2", "--json"],
  ]);
  assert.equal(reply, JSON.parse(stdout));
  assert.equal(
    reply.passages.map(({ attention }: { attention: number }) => attention > 0),
    [true, true, false],
  );
  assert.is(reply.answer.trim(), "James Watt");
  z.strictObject(REPLY.shape).parse(reply);
});

test("the reader marginal answers and reads, also as events", async () => {
  const body = { question: QUESTION, topK: 2, readTopK: 2, reader: "marginal" };
  const reply = await json(await ask("/v1/answer", body));
  z.strictObject(REPLY.shape).parse(reply);
  const options = { readTopK: 2, reader: "marginal" } as const;
  const direct = await server.model.answer(QUESTION, server.index, options);
  assert.equal([reply.answer, reply.confidence], [direct.answer, direct.confidence]);
  const events = parseEvents(
    await (await ask("/v1/answer", body, { Accept: "text/event-stream" })).text(),
  );
  assert.is(events.map(({ data }) => data.text ?? "").join(""), reply.answer);
  const { passages } = reply;
  const read = await json(
    await ask("/v1/read", { question: QUESTION, passages, reader: "marginal" }),
  );
  assert.equal([read.answer, read.confidence], [direct.answer, direct.confidence]);
  const [status, code] = await errorOf(await ask("/v1/answer", { ...body, reader: "none" }));
  assert.equal([status, code], [400, "invalid_request"]);
});

test("an answer as events: pieces that make the answer, then the reply", async () => {
  const body = { question: QUESTION, topK: 2, id: "q7", minimumConfidence: 0 };
  const plain = await json(await ask("/v1/answer", body));
  const response = await ask("/v1/answer", body, { Accept: "text/event-stream" });
  assert.match(response.headers.get("content-type")!, "text/event-stream");
  const events = parseEvents(await response.text());
  const texts = events.filter(({ event }) => event === "text");
  assert.is(texts.map(({ data }) => data.text).join(""), plain.answer);
  assert.ok(texts.length > 1);
  assert.equal(events.at(-1), { event: "reply", data: plain });
  assert.is(plain.id, "q7");
});

test("retrieval, reading of its results, explanations", async () => {
  const found = await json(await ask("/v1/retrieve", { question: QUESTION, topK: 2 }));
  z.strictObject(RETRIEVAL.shape).parse(found);
  assert.is(found.results[0].id, "watt/1");
  assert.equal(found.results[0].metadata, PASSAGES[0]!.metadata);
  const direct = await server.model.retrieve(QUESTION, server.index, { topK: 2 });
  assert.equal(
    found.results.map(({ id, score }: { id: string; score: number }) => [id, score]),
    direct.map(({ id, score }) => [id, score]),
  );
  const read = await json(await ask("/v1/read", { question: QUESTION, passages: found.results }));
  assert.is(read.answer.trim(), "James Watt");
  const explained = await ask("/v1/explain", { question: QUESTION, passages: found.results });
  const { results } = await json(explained);
  assert.equal(results[0], {
    id: "watt/1",
    ...JSON.parse(JSON.stringify(await server.model.explain(QUESTION, direct[0]!, server.index))),
  });
});

test("conditions on metadata, as an object and as text", async () => {
  for (const where of [{ year: { gte: 2000 } }, "year >= 2000"]) {
    const response = await ask("/v1/retrieve", { question: QUESTION, where });
    const { results } = await json(response);
    assert.equal(
      results.map(({ id }: { id: string }) => id),
      ["rhine"],
    );
  }
  const [status, code] = await errorOf(await ask("/v1/retrieve", { question: "x", where: "a >" }));
  assert.equal([status, code], [400, "invalid_request"]);
});

test("concurrent requests get their own answers", async () => {
  const questions = PASSAGES.flatMap(({ title }, i) => [title, `${i} ${title}`, "Where is it?"]);
  const single: ReturnType<typeof JSON.parse>[] = [];
  for (const question of questions)
    single.push(await json(await ask("/v1/answer", { question, topK: 2 })));
  const together = await Promise.all(
    questions.map(async (question) => json(await ask("/v1/answer", { question, topK: 2 }))),
  );
  const idsOf = (replies: typeof single) =>
    replies.map(({ answer, passages }) => [answer, passages.map(({ id }: { id: string }) => id)]);
  assert.equal(idsOf(together), idsOf(single));
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assert.match(metrics, /reatt_batch_size_bucket\{le="1"\} \d+/);
  const batches = Number(/reatt_batch_size_count (\d+)/.exec(metrics)![1]);
  const requests = Number(/reatt_batch_size_sum (\d+)/.exec(metrics)![1]);
  assert.ok(batches < requests, `${requests} requests ran in ${batches} batches`);
});

test("passages are added, replaced and deleted", async () => {
  const put = (passages: unknown) =>
    send(`${server.url}/v1/passages`, { passages }, { method: "PUT" });
  const before = await json(await fetch(`${server.url}/healthz`));
  const added = { id: "a/b ü", title: "Zebra", text: "Zebras have stripes." };
  assert.equal(await json(await put([added])), { passages: before.passages + 1 });
  const { results } = await json(
    await ask("/v1/retrieve", { question: "What do zebras have?", topK: 1 }),
  );
  assert.is(results[0].id, added.id);
  const remove = () =>
    fetch(`${server.url}/v1/passages/${encodeURIComponent(added.id)}`, { method: "DELETE" });
  assert.equal(await json(await remove()), { passages: before.passages });
  assert.equal((await errorOf(await remove())).slice(0, 2), [404, "not_found"]);
  assert.is((await errorOf(await put([{ id: "x" }])))[0], 400);
  const twice = [added, { ...added, title: "The last one" }];
  assert.equal(await json(await put(twice)), { passages: before.passages + 1 });
  assert.equal(await json(await remove()), { passages: before.passages });
});

test("an id that a path cannot have is deleted, too", async () => {
  const before = await json(await fetch(`${server.url}/healthz`));
  for (const id of ["..", ".", "a?b", "%2e%2e"]) {
    const passages = [{ id, title: "Dots", text: "The passage of dots." }];
    const put = await send(`${server.url}/v1/passages`, { passages }, { method: "PUT" });
    assert.equal(await json(put), { passages: before.passages + 1 });
    const remove = () =>
      fetch(`${server.url}/v1/passages?${new URLSearchParams({ id })}`, { method: "DELETE" });
    assert.equal(await json(await remove()), { passages: before.passages });
    assert.equal((await errorOf(await remove())).slice(0, 2), [404, "not_found"]);
  }
  const without = await fetch(`${server.url}/v1/passages`, { method: "DELETE" });
  assert.equal((await errorOf(without)).slice(0, 2), [400, "invalid_request"]);
});

test("the documents are listed, and questions suggested", async () => {
  const { documents, omitted } = await json(await fetch(`${server.url}/v1/documents`));
  assert.is(omitted, 0);
  assert.ok(Array.isArray(documents));
  const { questions } = await json(await fetch(`${server.url}/v1/questions`));
  assert.ok(questions.length <= 3);
  for (const question of questions) {
    const { evidence } = await json(await ask("/v1/answer", { question }));
    assert.ok(evidence.length > 0, question);
  }
});

test("invalid requests", async () => {
  const cases: [body: unknown, expected: RegExp][] = [
    [{}, /^question: expected a question as text, got nothing/],
    [{ question: " " }, /^question: expected a question, got/],
    [{ question: "x".repeat(10_001) }, /^question: expected at most 10,000 characters/],
    [{ question: "wort ".repeat(201) }, /^question: expected at most 200 words, got [^\n]*$/],
    [{ question: "水".repeat(401) }, /^question: expected at most 200 words/],
    [{ question: "xqzvjkwp ".repeat(200) }, /at most 512 tokens/],
    [{ question: "x", topk: 3 }, /did you mean "topK"/],
    [{ question: "x", topK: 0 }, /^topK: expected a whole number from 1 to 200, got 0/],
    [{ question: "x", readTopK: 101 }, /^readTopK: expected a whole number from 1 to 100, got 101/],
    [{ question: "x", topK: 1e9 }, /^topK/],
    [{ question: "x", maxAnswerTokens: 1_000_000 }, /^maxAnswerTokens/],
    [{ question: "x", where: { year: { near: 3 } } }, /^where: expected comparisons among/],
    [{ question: ["x"] }, /^question/],
    [{ question: "x", signal: {} }, /names among/],
    [[], /not a JSON object/],
    [null, /not a JSON object/],
    ["text", /not a JSON object/],
  ];
  for (const [body, expected] of cases) {
    const [status, code, message] = await errorOf(await ask("/v1/answer", body));
    assert.equal([status, code], [400, "invalid_request"], JSON.stringify(body)?.slice(0, 80));
    assert.match(message, expected);
  }
  for (const body of ["", "{", "\ufffe", "[".repeat(100_000), '{"question":"x"}{}', "\xff\xfe"]) {
    const response = await ask("/v1/answer", undefined, {});
    assert.is((await errorOf(response))[0], 400);
    const raw = await fetch(`${server.url}/v1/answer`, {
      ...{ method: "POST", body: Buffer.from(body, "latin1") },
      headers: { "Content-Type": "application/json; charset=utf-8" },
    });
    assert.is((await errorOf(raw))[0], 400, body.slice(0, 10));
  }
  const nested = `{"question":"x","where":${'{"not":'.repeat(50_000)}{}${"}".repeat(50_001)}`;
  const polluting = '{"question":"x","__proto__":{"topK":3}}';
  for (const body of [nested, polluting]) {
    const raw = await send(`${server.url}/v1/answer`, undefined, { body });
    assert.is((await errorOf(raw))[0], 400, body.slice(0, 40));
  }
});

test("wrong paths, methods, types and sizes", async () => {
  const get = (path: string, options?: RequestInit) => fetch(`${server.url}${path}`, options);
  assert.equal((await errorOf(await get("/nowhere"))).slice(0, 2), [404, "not_found"]);
  assert.is((await errorOf(await get("/..%2f..%2fetc/passwd")))[0], 404);
  const wrong = await get("/v1/answer");
  assert.is(wrong.headers.get("allow"), "POST");
  assert.equal((await errorOf(wrong)).slice(0, 2), [405, "method_not_allowed"]);
  const text = await ask("/v1/answer", { question: "x" }, { "Content-Type": "text/plain" });
  assert.equal((await errorOf(text)).slice(0, 2), [415, "unsupported_media_type"]);
  const packed = await ask("/v1/answer", { question: "x" }, { "Content-Encoding": "gzip" });
  assert.equal((await errorOf(packed)).slice(0, 2), [415, "unsupported_media_type"]);
  const large = Buffer.alloc(8_000_001, " ");
  const chunked = new ReadableStream({
    start(controller) {
      controller.enqueue(large);
      controller.close();
    },
  });
  for (const body of [large, chunked]) {
    const options = { method: "POST", body, duplex: "half" } as RequestInit;
    const headers = { "Content-Type": "application/json" };
    const response = await get("/v1/answer", { ...options, headers });
    assert.equal((await errorOf(response)).slice(0, 2), [413, "payload_too_large"]);
  }
});

test("other origins and other names are refused, and there are no CORS headers", async () => {
  const foreign = await ask("/v1/answer", { question: "x" }, { Origin: "https://example.com" });
  assert.equal((await errorOf(foreign)).slice(0, 2), [403, "forbidden"]);
  assert.is(foreign.headers.get("access-control-allow-origin"), null);
  const own = await ask("/v1/retrieve", { question: "x", topK: 1 }, { Origin: server.url });
  assert.is(own.status, 200);
  const { request } = await import("node:http");
  const rebound = await new Promise<number>((resolve) => {
    request(`${server.url}/healthz`, { headers: { Host: "evil.example:80" } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).end();
  });
  assert.is(rebound, 403);
});

test("the page allows no inline scripts and no other hosts", async () => {
  const response = await fetch(server.url);
  const policy = response.headers.get("content-security-policy")!;
  assert.match(policy, "default-src 'none'");
  assert.match(policy, "script-src 'self'");
  assert.not.match(policy, "unsafe");
  const html = await response.text();
  assert.not.match(html, /<script(?![^>]* src=)/);
  assert.not.match(html, /\son\w+=|style=|https?:/);
});

test("the description names every route, and its schemas accept the examples", async () => {
  const { openapi, paths } = await json(await fetch(`${server.url}/openapi.json`));
  assert.is(openapi, "3.1.0");
  assert.equal(Object.keys(paths), [
    ...["/v1/answer", "/v1/retrieve", "/v1/read", "/v1/explain"],
    ...["/v1/get", "/v1/multi-get", "/v1/status", "/v1/documents", "/v1/questions"],
    ...["/v1/passages", "/v1/passages/{id}", "/healthz", "/readyz"],
  ]);
  const { schema } = paths["/v1/answer"].post.requestBody.content["application/json"];
  assert.is(z.fromJSONSchema(schema).safeParse({ question: "x", topK: 3 }).success, true);
  assert.is(z.fromJSONSchema(schema).safeParse({ question: "x", topK: 0 }).success, false);
  assert.is(z.fromJSONSchema(schema).safeParse({ topK: 3 }).success, false);
});

test("the log has one line for each request, without its text", async () => {
  server.lines.length = 0;
  const headers = { "X-Request-Id": "my-id" };
  const response = await ask("/v1/retrieve", { question: QUESTION, topK: 1 }, headers);
  await response.text();
  assert.is(response.headers.get("x-request-id"), "my-id");
  // The server may also log, at any time, that it has seen a change of the index by a test above.
  const requests = () => server.lines.filter(({ event }) => event !== "refreshed");
  while (requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const [{ level, event, fields }] = requests() as [(typeof server.lines)[0]];
  assert.equal([level, event], ["info", "request"]);
  assert.equal(Object.keys(fields!), ["id", "method", "path", "status", "ms"]);
  assert.is(fields!.id, "my-id");
});

test("without --writable there is no way to write", async () => {
  const reading = await startTestServer();
  try {
    const put = await send(`${reading.url}/v1/passages`, { passages: [] }, { method: "PUT" });
    assert.is(put.status, 404);
    const gone = await fetch(`${reading.url}/v1/passages/rhine`, { method: "DELETE" });
    assert.is(gone.status, 404);
    const { paths } = await json(await fetch(`${reading.url}/openapi.json`));
    assert.is(paths["/v1/passages"], undefined);
  } finally {
    await reading.close();
  }
});

test("with API keys, only the page and the health are open", async () => {
  const file = join(folder, "keys");
  const key = "0123456789abcdef-first";
  writeFileSync(file, `# keys\n${key}\n\n0123456789abcdef-second\r\n`);
  const secured = await startTestServer({ apiKeyFile: file });
  try {
    const statusOf = async (path: string, authorization?: string) => {
      const headers = authorization ? { Authorization: authorization } : {};
      return (await fetch(`${secured.url}${path}`, { headers })).status;
    };
    for (const path of ["/", "/page.js", "/healthz"]) assert.is(await statusOf(path), 200);
    for (const path of ["/metrics", "/openapi.json", "/v1/answer", "/v1/nowhere", "/mcp"])
      for (const given of [undefined, "Bearer x", `Bearer ${key}x`, key, `Basic ${key}`, "Bearer "])
        assert.is(await statusOf(path, given), 401, `${path} ${given}`);
    for (const known of [key, "0123456789abcdef-second"])
      assert.is(await statusOf("/metrics", `Bearer ${known}`), 200);
    assert.is(await statusOf("/metrics", "Bearer # keys"), 401);
  } finally {
    await secured.close();
  }
});

test.run();
