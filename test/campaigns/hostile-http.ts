/**
 * Hostile connections to a server: random and mutated requests, whole and in pieces, that are
 * closed, half closed, reset, left open or not read.
 *
 *     npx tsx test/campaigns/hostile-http.ts --count 5000 --seed 1
 *
 * Each must be answered or closed within the limits, and the server must answer others meanwhile
 * and stop in the end. The first campaign had 5,000 connections.
 */

import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom, type Random } from "../../src/math/random.ts";
import { startTestServer } from "../server/support.ts";
import { Failed, runCampaign, type Tries } from "./campaign.ts";

const LIMITS = { head: 1_500, request: 2_000, reply: 1_500, idle: 1_500, check: 100 };
/** Milliseconds after which a connection counts as hung. */
const HUNG_MS = 15_000;
const TOGETHER = 50;
/** Connections between two requests of another client. */
const CHECK_EVERY = 50;
const STOP_MS = 60_000;

const METHODS = [
  "GET",
  "POST",
  "PUT",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "TRACE",
  "CONNECT",
  "X",
  "get",
  "",
];
const TARGETS = [
  ...[
    "/",
    "/healthz",
    "/v1/answer",
    "/v1/retrieve",
    "/v1/read",
    "/v1/get",
    "/v1/multi-get",
    "/v1/status",
    "/mcp",
    "/metrics",
    "/a\\b",
    "*",
  ],
  ...["//x", "http://localhost/healthz", "http://[/", "/%zz", "/v1/passages/%ff", "?x", "", "/\0"],
  ...["/openapi.json", `/${"x".repeat(20_000)}`, "/../../etc/passwd", "localhost:80", "ftp://x/"],
];
const VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.", ""];
const HOSTS = [
  ...[
    "localhost",
    "localhost",
    "localhost",
    "localhost:99999999",
    "a@b",
    "",
    "[::1",
    "x y",
    "\xff",
  ],
  ...["evil.example", "127.0.0.1:80", "[::1]:80", "localhost/x", "%41", "localhost\r\nHost: x"],
];
const HEADERS = [
  ...["Content-Type: application/json", "Content-Length: 10", "Content-Length: -1"],
  ...["Content-Length: 99999999999999999999", "Transfer-Encoding: chunked", "Transfer-Encoding: x"],
  ...["Connection: Upgrade\r\nUpgrade: websocket", "Connection: close", "Expect: 100-continue"],
  ...["Expect: x", "Accept: text/event-stream", "Origin: http://evil.example", "A: b\r\n c", "bad"],
  ...[`X: ${"y".repeat(30_000)}`, "Authorization: Bearer x", "Range: bytes=0-1", "Te: trailers"],
];
const QUESTION = '{"question":"Who patented a steam engine in 1781?","topK":1,"maxAnswerTokens":4}';
const BODIES = [
  QUESTION,
  "{",
  "[".repeat(5_000),
  "\xff\xfe",
  "5\r\nhello\r\n0\r\n\r\n",
  "zz\r\n",
  "",
];

/** What a client does after its bytes. */
const ENDINGS = ["wait", "wait", "wait", "half close", "leave", "reset", "read nothing"] as const;

await runCampaign({
  script: import.meta.url,
  unit: "connections",
  standardCount: 300,
  hungAfter: 600,
  maxBytes: 1.5e9,
  together: TOGETHER,
  open: ({ seed }) => connections(seed),
});

async function connections(seed: number): Promise<Tries> {
  const counts = { answered: 0, closed: 0, "requests of others": 0 };
  const server = await startTestServer({ clientLimits: LIMITS, writable: true });
  const port = Number(new URL(server.url).port);
  return {
    async attempt(number) {
      const others = number % CHECK_EVERY === 0 ? askOther(server.url) : undefined;
      const received = await attack(port, createRandom(seed, "hostile http", number));
      counts[received > 0 ? "answered" : "closed"]++;
      if (others) counts["requests of others"]++;
      await others;
    },
    async close() {
      const limit = new AbortController();
      const hung = sleep(STOP_MS, "hung", limit).catch(() => "stopped");
      if ((await Promise.race([server.close(), hung])) === "hung")
        throw new Failed("hung", `the stop has not ended after ${STOP_MS} ms`);
      limit.abort();
      const defects = server.lines.filter(({ level }) => level === "error");
      if (defects.length > 0) throw new Error(JSON.stringify(defects.map(({ fields }) => fields)));
      return counts;
    },
  };
}

function requestOf(random: Random): Buffer {
  const one = <Item>(items: readonly Item[]): Item => items[random.integer(items.length)]!;
  const isUsual = random.integer(3) === 0;
  const line = isUsual
    ? "POST /v1/answer HTTP/1.1"
    : `${one(METHODS)} ${one(TARGETS)} ${one(VERSIONS)}`;
  const body = one(BODIES);
  const headers = Array.from({ length: random.integer(4) }, () => one(HEADERS));
  if (random.integer(8) > 0) headers.push(`Host: ${one(HOSTS)}`);
  if (isUsual) headers.push(HEADERS[0]!, `Content-Length: ${body.length}`);
  const text = `${line}\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
  const bytes = Buffer.from(text.repeat(random.integer(10) === 0 ? 3 : 1), "latin1");
  if (random.integer(3) === 0)
    for (let i = 0; i < 1 + random.integer(5); i++)
      bytes[random.integer(bytes.length)] = random.integer(256);
  return random.integer(3) === 0 ? bytes.subarray(0, random.integer(bytes.length + 1)) : bytes;
}

/** Sends a random request and waits for the end of its connection. @returns bytes of the reply */
async function attack(port: number, random: Random): Promise<number> {
  const bytes = requestOf(random);
  const pieces = 1 + random.integer(3);
  const ending = ENDINGS[random.integer(ENDINGS.length)]!;
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let received = 0;
  const closed = new Promise<"closed">((resolve) => socket.once("close", () => resolve("closed")));
  socket.on("error", () => {});
  socket.on("end", () => socket.end());
  if (ending === "read nothing") socket.pause();
  else socket.on("data", (data) => (received += data.length));
  for (let i = 0; i < pieces; i++) {
    socket.write(bytes.subarray((i * bytes.length) / pieces, ((i + 1) * bytes.length) / pieces));
    await sleep(random.integer(5));
  }
  if (ending === "half close") socket.end();
  if (ending === "leave") socket.destroy();
  if (ending === "reset") socket.resetAndDestroy();
  if (ending === "read nothing") setTimeout(() => socket.resume(), 3_000).unref();
  const limit = new AbortController();
  const hung = sleep(HUNG_MS, "hung", limit).catch(() => "closed");
  const outcome = await Promise.race([closed, hung]);
  limit.abort();
  socket.destroy();
  if (outcome === "hung")
    throw new Failed("hung", `open after ${HUNG_MS} ms: ${JSON.stringify(`${bytes}`)}`);
  return received;
}

/** Other clients get their answers. */
async function askOther(url: string): Promise<void> {
  const limit = AbortSignal.timeout(HUNG_MS);
  const response = await fetch(`${url}/healthz`, { signal: limit });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`another client: ${response.status} ${text}`);
}
