/** Clients that are slow, silent or gone, and the stop of the server. */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { send, startTestServer } from "./support.ts";

const QUESTION = { question: "Who patented a steam engine in 1781?", readTopK: 3 };
const SHORT = { head: 1_000, request: 2_000, reply: 1_500, idle: 1_000, check: 100 };

const server = await startTestServer({ clientLimits: SHORT });
test.after(() => server.close());

const port = Number(new URL(server.url).port);

async function open(text = "", to = port): Promise<Socket> {
  const socket = connect(to, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

/** What the server sends until it closes the connection. */
async function received(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  await once(socket, "close");
  return text;
}

const head = (length: number): string =>
  "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
  `Content-Length: ${length}\r\n\r\n`;

async function answers(): Promise<void> {
  const response = await send(`${server.url}/v1/answer`, QUESTION);
  assert.is(response.status, 200);
  assert.match(await response.text(), "James Watt");
}

test("silent and slow clients are disconnected, and others get their answers", async () => {
  const silent = await open();
  const slowHead = await open("POST /v1/answer HTTP/1.1\r\nHost: local");
  const slowBody = await open(`${head(1_000)}{"question":`);
  const dripping = setInterval(() => slowBody.write(" "), 20);
  const closed = [silent, slowHead, slowBody].map(received);
  await answers();
  const texts = await Promise.all(closed);
  clearInterval(dripping);
  assert.match(texts[1]!, "408 Request Timeout");
  assert.match(texts[2]!, "408 Request Timeout");
  await answers();
});

test("the state of the server is answered while the largest questions are searched", async () => {
  const words = Array.from({ length: 500 }, (_, i) => `word${(i * 7919) % 500}`);
  const passages = Array.from({ length: 210 }, (_, i) => ({
    id: `p${i}`,
    text: words.slice(i, i + 20).join(" "),
  }));
  const directory = mkdtempSync(join(tmpdir(), "reatt-searched-"));
  await using index = await server.model.index(passages, { directory, bits: 4 });
  const searching = await startTestServer({ index });
  let isSearching = true;
  const searches = Promise.all(
    Array.from({ length: 7 }, async (_, i) => {
      const question = words.slice(i, i + 60).join(" ");
      const response = await send(`${searching.url}/v1/retrieve`, { question, topK: 200 - i });
      assert.is(response.status, 200);
      assert.is((await response.json()).results.length, 200 - i);
    }),
  ).finally(() => {
    isSearching = false;
  });
  let answered = 0;
  while (isSearching) {
    assert.is((await fetch(`${searching.url}/healthz`)).status, 200);
    if (isSearching) answered++;
  }
  await searches;
  assert.ok(answered >= 7, `${answered} answers`);
  await searching.close();
  rmSync(directory, { recursive: true });
});

test("data that is no HTTP", async () => {
  for (const text of [
    "\0\x01\x02\r\n\r\n",
    "GET\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ]) {
    const answer = await received(await open(text));
    assert.match(answer, /^HTTP\/1.1 4\d\d /, text.slice(0, 60));
  }
  await answers();
});

test("clients that disconnect: their requests leave the queue, and others are answered", async () => {
  server.lines.length = 0;
  const body = JSON.stringify({ ...QUESTION, readTopK: 4, maxAnswerTokens: 200 });
  const gone = await Promise.all(
    Array.from({ length: 20 }, () => open(head(body.length) + body.replace("?", "."))),
  );
  await setTimeout(100);
  for (const socket of gone) socket.destroy();
  await answers();
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assert.match(metrics, "reatt_queue_waiting 0");
  const statuses = server.lines.map(({ fields }) => fields!.status);
  assert.ok(statuses.includes(499), statuses.join());
  assert.not.ok(server.lines.some(({ level }) => level === "error"));
});

test("a client that leaves a stream stops its generation", async () => {
  const abort = new AbortController();
  const response = await send(`${server.url}/v1/answer`, QUESTION, {
    headers: { Accept: "text/event-stream" },
    signal: abort.signal,
  });
  const reader = response.body!.getReader();
  await reader.read();
  abort.abort();
  await reader.read().catch(() => {});
  await answers();
});

test("a full queue and a timeout have their own errors", async () => {
  const strict = await startTestServer({ queue: 1, timeout: 0.001 });
  try {
    const codeOf = async (response: Response) => JSON.parse(await response.text()).error.code;
    const late = await send(`${strict.url}/v1/answer`, QUESTION);
    assert.equal([late.status, await codeOf(late)], [504, "timeout"]);
  } finally {
    await strict.close();
  }
  const narrow = await startTestServer({ queue: 1 });
  try {
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        send(`${narrow.url}/v1/answer`, { ...QUESTION, question: `${QUESTION.question} ${i}` }),
      ),
    );
    const refused = responses.filter(({ status }) => status === 503);
    assert.ok(refused.length > 0);
    assert.is(refused.length + responses.filter(({ status }) => status === 200).length, 12);
    assert.is(refused[0]!.headers.get("retry-after"), "1");
    assert.is(JSON.parse(await refused[0]!.text()).error.code, "overloaded");
  } finally {
    await narrow.close();
  }
});

test("a stop completes running and waiting requests, and ends idle connections", async () => {
  const stopping = await startTestServer();
  try {
    const own = Number(new URL(stopping.url).port);
    const idle = await open("", own);
    const requests = Array.from({ length: 6 }, (_, i) =>
      send(`${stopping.url}/v1/answer`, { ...QUESTION, maxAnswerTokens: 40 + i }),
    );
    const stream = send(`${stopping.url}/v1/answer`, QUESTION, {
      headers: { Accept: "text/event-stream" },
    });
    const metrics = async () => (await fetch(`${stopping.url}/metrics`)).text();
    while (!/^reatt_requests_running 8$/m.test(await metrics())) await setTimeout(5);
    const stopped = stopping.stop();
    const responses = await Promise.all(requests);
    for (const response of responses) {
      assert.is(response.status, 200);
      assert.match(await response.text(), "James Watt");
    }
    assert.match(await (await stream).text(), "event: reply");
    await stopped;
    if (!idle.closed) await once(idle, "close");
    const refused = await fetch(stopping.url).catch(({ cause }) => cause.code);
    assert.is(refused, "ECONNREFUSED");
  } finally {
    await stopping.close();
  }
});

test.run();
