/** Replies to clients that do not read them, and the stop of a server, with replies of any size. */

import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type RunningServer, startServer } from "../../src/server/http-server.ts";
import { open, portOf, received } from "./sockets.ts";

const LIMITS = { head: 1_000, request: 1_500, reply: 700, idle: 1_000, check: 50 };
const BYTES = 64_000_000; // more than the buffers of the system
const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

interface Started extends RunningServer {
  /** Requests that have come. */
  readonly requests: Request[];
}

async function start(
  reply: (request: Request) => Response | Promise<Response>,
  shutdownTimeout = 60_000,
): Promise<Started> {
  const requests: Request[] = [];
  const app = {
    fetch: (request: Request) => {
      requests.push(request);
      return reply(request);
    },
    refuse: () => new Response(null, { status: 400 }),
  };
  const server = await startServer(app, { host: "127.0.0.1", port: 0, shutdownTimeout }, LIMITS);
  return { ...server, requests };
}

const large = (): Response => new Response(Buffer.alloc(BYTES, "a"));

/** The number of bytes that come until the connection ends. */
async function bytesOf(socket: Awaited<ReturnType<typeof open>>, pause = 0): Promise<number> {
  let bytes = 0;
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).length;
    if (pause > 0) await setTimeout(pause);
  }
  return bytes;
}

test("a reply that is not read is dropped, one that is read slowly is not", async () => {
  const server = await start(large);
  const unread = await open(portOf(server.url), GET);
  unread.pause();
  const slow = await open(portOf(server.url), GET);
  assert.ok((await bytesOf(slow, 2)) > BYTES);
  await setTimeout(2 * LIMITS.reply); // the loop above may have been faster
  assert.ok((await bytesOf(unread)) < BYTES);
  await server.stop();
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
  const server = await start(large);
  const socket = await open(portOf(server.url), GET);
  while (server.requests.length === 0) await setTimeout(5);
  const stopped = server.stop();
  const bytes = await bytesOf(socket, 1);
  assert.ok(bytes > BYTES, `${bytes}`);
  assert.is(await stopped, 0);
});

test("a stop waits for a reply that is computed, and takes no new connection", async () => {
  const server = await start(async () => {
    await setTimeout(1_000);
    return new Response("done");
  });
  const asked = await open(portOf(server.url), GET);
  const idle = await open(portOf(server.url));
  while (server.requests.length === 0) await setTimeout(5);
  const stopped = server.stop();
  assert.is(await fetch(server.url).catch(({ cause }) => cause.code), "ECONNREFUSED");
  assert.match(await received(asked), "done");
  assert.is(await received(idle), "");
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
  const server = await start(() => new Promise(() => {}), 100);
  const sockets = await Promise.all([1, 2].map(() => open(portOf(server.url), GET)));
  while (server.requests.length < 2) await setTimeout(5);
  const closed = sockets.map(received);
  assert.is(await server.stop(), 2);
  assert.equal(await Promise.all(closed), ["", ""]);
});

test.run();
