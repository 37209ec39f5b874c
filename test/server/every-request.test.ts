/** Every request is answered or closed, whatever it is, and other clients get their answers. */

import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { open, portOf, received } from "./sockets.ts";
import { send, startTestServer } from "./support.ts";

const SHORT = { head: 1_000, request: 2_000, reply: 1_500, idle: 1_000, check: 100 };
const server = await startTestServer({ clientLimits: SHORT });
const servers = [server]; // one that stays open keeps the process
test.after(async () => {
  for (const one of servers) await one.close();
});
const port = portOf(server.url);

/** Requests that are answered with a status of 400 or more, or with nothing but a close. */
const BAD: Readonly<Record<string, string>> = {
  "a port out of range": "GET /healthz HTTP/1.1\r\nHost: localhost:99999999\r\n\r\n",
  "a user in Host": "GET /healthz HTTP/1.1\r\nHost: a@b\r\n\r\n",
  "an empty Host": "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
  "a path in Host": "GET /healthz HTTP/1.1\r\nHost: localhost/x\r\n\r\n",
  "a space in Host": "GET /healthz HTTP/1.1\r\nHost: local host\r\n\r\n",
  "a percent in Host": "GET /healthz HTTP/1.1\r\nHost: %zz\r\n\r\n",
  "half an IPv6 address": "GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n",
  "bytes beyond ASCII in Host": "GET /healthz HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
  "two Hosts": "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
  "HTTP/1.0 without Host": "GET /healthz HTTP/1.0\r\n\r\n",
  "HTTP/1.1 without Host": "GET /healthz HTTP/1.1\r\n\r\n",
  "HTTP/0.9": "GET /healthz\r\n\r\n",
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  TLS: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "a backslash": "GET /a\\b HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "OPTIONS *": "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "OPTIONS * with a port": "OPTIONS * HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
  "a target without a slash": "GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "a bad absolute target": "GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "another scheme": "GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "two slashes": "GET //evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "a bad escape": "GET /v1/passages/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "a bad escape in an id": "DELETE /v1/passages/%ff%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  CONNECT: "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
  TRACE: "TRACE /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "an unknown method": "BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "length and chunks":
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "two lengths":
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}  ",
  "a negative length": "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
  "a huge length":
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    "Content-Length: 99999999999999999999\r\n\r\n",
  "unknown coding":
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nabc",
  "bad chunks":
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "huge headers": `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
  "a long target": `GET /${"x".repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  "a folded header": "GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
  "an expectation": "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n",
  "a name of another site": "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
};

/** Requests that a server answers. */
const GOOD: Readonly<Record<string, string>> = {
  "HTTP/1.0": "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n",
  "an absolute target": "GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "an upgrade":
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  "an upgrade to HTTP/2":
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n" +
    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
  "a body that never comes":
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
  "upper case and a dot": "GET /healthz HTTP/1.1\r\nHost: LOCALHOST.:80\r\n\r\n",
  "an address": "GET /healthz HTTP/1.1\r\nHost: [::ffff:7f00:1]:8080\r\n\r\n",
};

const healthy = async (): Promise<void> => {
  assert.is((await fetch(`${server.url}/healthz`)).status, 200);
};

for (const [name, text] of Object.entries(BAD))
  test(`refused: ${name}`, async () => {
    const reply = await received(await open(port, Buffer.from(text, "latin1")));
    assert.match(reply, /^($|HTTP\/1\.1 (4\d\d|5\d\d) )/, reply.slice(0, 200));
    assert.not.match(reply, /HTTP\/1\.1 500/);
    await healthy();
  });

for (const [name, text] of Object.entries(GOOD))
  test(`answered: ${name}`, async () => {
    const reply = await received(await open(port, text));
    assert.match(reply, /^HTTP\/1\.1 200 .*"status":"ok"/s, reply.slice(0, 200));
    await healthy();
  });

test("requests that are never finished, and halves of connections", async () => {
  const body = '{"question":"Who patented a steam engine in 1781?","topK":1}';
  const head =
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${body.length}\r\n\r\n`;
  const whole = head + body;
  for (const length of [1, 20, head.length - 1, head.length, whole.length - 1]) {
    const socket = await open(port, whole.slice(0, length));
    if (length % 2 === 0) socket.end(); // the client sends no more, but reads
    const reply = await received(socket);
    assert.match(reply, /^($|HTTP\/1\.1 4\d\d )/, `${length}: ${reply}`);
  }
  // For Node, a client that sends no more has gone.
  const halfClosed = await open(port, whole);
  halfClosed.end();
  assert.match(await received(halfClosed), /^$|James Watt/);
});

test("requests in a row on one connection are answered in their order", async () => {
  const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
  const all = get("/healthz") + get("/nowhere") + get("/a\\b") + get("/healthz");
  const reply = await received(await open(port, all));
  const statuses = [...reply.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  assert.equal(statuses.slice(0, 3), ["200", "404", "400"]);
});

test("bad requests are in the log and in the metrics, and lock nobody out", async () => {
  server.lines.length = 0;
  const sockets = await Promise.all(
    Array.from({ length: 300 }, () => open(port, "GET /a\\b HTTP/1.1\r\nHost: localhost\r\n\r\n")),
  );
  for (const reply of await Promise.all(sockets.map(received)))
    assert.match(reply, '"code":"invalid_request"');
  await healthy();
  const refused = server.lines.filter(({ fields }) => fields?.status === 400);
  assert.is(refused.length, 300);
  assert.is(refused[0]!.fields!.path, "/a\\b");
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assert.is(/^reatt_requests_running (\d+)$/m.exec(metrics)![1], "1");
  assert.match(metrics, /^reatt_requests_total\{route="",status="400"\} \d+$/m);
});

test("half-sent bodies have one budget, and questions are answered beside them", async () => {
  const strict = await startTestServer();
  servers.push(strict);
  const length = 7_900_000;
  const head =
    "POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${length}\r\n\r\n`;
  const half = Buffer.concat([Buffer.from(head), Buffer.alloc(length - 1_000, " ")]);
  const sockets: Awaited<ReturnType<typeof open>>[] = [];
  const replies: string[] = [];
  while (replies.length < 3) {
    const socket = await open(portOf(strict.url), half);
    received(socket).then((reply) => replies.push(reply));
    sockets.push(socket);
    await setTimeout(50);
  }
  for (const reply of replies) assert.match(reply, /^HTTP\/1\.1 503 .*"code":"overloaded"/s);
  const question = { question: "Who patented a steam engine in 1781?", topK: 1 };
  assert.is((await send(`${strict.url}/v1/answer`, question)).status, 200);
  const large = { ...question, id: "x".repeat(3_000_000) };
  // On a loaded machine, some bytes of the half-sent bodies are still to come.
  const statuses = new Set<number>();
  const ask = async (): Promise<number> => (await send(`${strict.url}/v1/answer`, large)).status;
  for (let i = 0; i < 100 && !statuses.has(503); i++) statuses.add(await ask());
  assert.ok(statuses.has(503));
  for (const socket of sockets) socket.destroy();
  let status: number;
  do status = await ask();
  while (status === 503);
  assert.is(status, 400);
});

test.run();
