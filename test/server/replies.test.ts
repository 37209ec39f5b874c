/** Replies to clients that do not read them, and the stop of a server, with replies of any size. */

import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type RunningServer, startServer } from "../../src/server/http/http-server.ts";
import { open, portOf, received } from "./sockets.ts";

/** For tests of what comes too late. */
const SHORT = { head: 1_000, request: 1_500, reply: 700, idle: 1_000, check: 50 };
/** For tests of what comes in time, on a busy machine too. */
const LONG = { head: 600_000, request: 600_000, reply: 600_000, idle: 600_000, check: 50 };
const BYTES = 64_000_000; // more than the buffers of the system
const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

interface Started extends RunningServer {
  /** Requests that have come. */
  readonly requests: Request[];
}

async function start(
  reply: (request: Request) => Response | Promise<Response>,
  limits = SHORT,
  shutdownTimeout = 600_000,
): Promise<Started> {
  const requests: Request[] = [];
  const app = {
    fetch: (request: Request) => {
      requests.push(request);
      return reply(request);
    },
    refuse: () => new Response(null, { status: 400 }),
  };
  const server = await startServer(app, { host: "127.0.0.1", port: 0, shutdownTimeout }, limits);
  return { ...server, requests };
}

const large = (): Response => new Response(Buffer.alloc(BYTES, "a"));

/** The bytes that come until the connection ends, and the longest time between two parts. */
async function readAll(
  socket: Awaited<ReturnType<typeof open>>,
  pause = 0,
): Promise<{ readonly bytes: number; readonly gap: number }> {
  let [bytes, gap, last] = [0, 0, performance.now()];
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).length;
    gap = Math.max(gap, performance.now() - last);
    last = performance.now();
    if (pause > 0) await setTimeout(pause);
  }
  return { bytes, gap };
}

test("a reply that is not read is dropped, one that is read slowly is not", async () => {
  const server = await start(large);
  const unread = await open(portOf(server.url), GET);
  unread.pause();
  while (server.requests.length === 0) await setTimeout(5);
  const slow = await open(portOf(server.url), GET);
  const { bytes, gap } = await readAll(slow, 2);
  // On a machine that stood still, this client too was one that read nothing.
  assert.ok(bytes > BYTES || gap > SHORT.reply / 2, `${bytes} ${gap}`);
  await server.stop(); // waits for the end of the other reply
  assert.ok((await readAll(unread)).bytes < BYTES);
});

test("a stream of events that is not read is dropped", async () => {
  let isCancelled = false;
  const server = await start(
    () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(Buffer.alloc(1_000_000, "a")),
          cancel: () => {
            isCancelled = true;
          },
        }),
      ),
  );
  const unread = await open(portOf(server.url), GET);
  unread.pause();
  while (!isCancelled) await setTimeout(20);
  unread.destroy();
  await server.stop();
});

test("a stop sends replies to their end", async () => {
  const server = await start(large, LONG);
  const socket = await open(portOf(server.url), GET);
  while (server.requests.length === 0) await setTimeout(5);
  const stopped = server.stop();
  const { bytes } = await readAll(socket, 1);
  assert.ok(bytes > BYTES, `${bytes}`);
  assert.is(await stopped, 0);
});

test("a stop waits for a reply that is computed, and takes no new connection", async () => {
  let finish = () => {};
  const computed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const server = await start(async () => {
    await computed;
    return new Response("done");
  }, LONG);
  const asked = await open(portOf(server.url), GET);
  const idle = await open(portOf(server.url));
  while (server.requests.length === 0) await setTimeout(5);
  const stopped = server.stop();
  assert.is(await fetch(server.url).catch(({ cause }) => cause.code), "ECONNREFUSED");
  assert.is(await received(idle), "");
  finish();
  assert.match(await received(asked), "done");
  assert.is(await stopped, 0);
});

test("a stop ends with half a body, half a head, and a client that reads nothing", async () => {
  const server = await start(async (request) => {
    if (request.method === "POST") await request.text().catch(() => "");
    return large();
  });
  const post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
  for (const text of [post, "GET / HT", GET]) (await open(portOf(server.url), text)).pause();
  while (server.requests.length < 2) await setTimeout(5);
  await server.stop();
});

test("a stop ends what takes longer than its time limit, and says how much", async () => {
  const server = await start(() => new Promise(() => {}), LONG, 100);
  const sockets = await Promise.all([1, 2].map(() => open(portOf(server.url), GET)));
  while (server.requests.length < 2) await setTimeout(5);
  const closed = sockets.map(received);
  assert.is(await server.stop(), 2);
  assert.equal(await Promise.all(closed), ["", ""]);
});

test.run();
