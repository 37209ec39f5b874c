/** The queue and the documents of a service, with generations in memory. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ReAtt } from "../../../src/reatt.ts";
import type { IndexGeneration } from "../../../src/retrieval/search/generation.ts";
import type { TokenIndex } from "../../../src/retrieval/search/token-index.ts";
import { Service } from "../../../src/server/service/service.ts";

/** Each generation has one document, and the number 1. */
const generationOf = (document: string): IndexGeneration => {
  const passage = { id: `${document}#1`, title: "", text: `It is ${document}.`, document };
  return {
    generation: 1,
    members: [{ collection: "facts" }],
    ownerOf: () => ({ collection: "facts" }),
    linkOf: () => undefined,
    visitFields: async (visit: (ordinal: number, fields: object) => void) => visit(0, passage),
    find: async () => undefined,
    passages: async () => [passage],
  } as unknown as IndexGeneration;
};

const startService = (
  snapshot: (work: (generation: IndexGeneration) => Promise<unknown>) => Promise<unknown>,
): Promise<Service> =>
  Service.start({
    model: { answer: async () => ({}) } as unknown as ReAtt,
    index: { snapshot } as unknown as TokenIndex,
    collection: { title: "documents" },
    queue: 2,
  });

const message = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "",
    (error: Error) => error.message,
  );
const { signal } = new AbortController();
const request = (path: string) => ({ path, maxBytes: 1_000 });

test("an index that replaces another with the same number has its own documents", async () => {
  let current = generationOf("a.md");
  await using service = await startService((work) => work(current));
  assert.is((await service.get(request("a.md"), { signal })).passages[0]!.text, "It is a.md.");
  current = generationOf("b.md");
  assert.match(await message(service.get(request("a.md"), { signal })), /no document or passage/);
  assert.is((await service.get(request("b.md"), { signal })).passages[0]!.text, "It is b.md.");
});

test("documents wait in the queue, and leave it with their clients", async () => {
  let proceed = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  let begun = 0;
  await using service = await startService(async (work) => {
    begun++;
    await stopped;
    return work(generationOf("a.md"));
  });
  const running = service.get(request("a.md"), { signal });
  await new Promise((resolve) => setTimeout(resolve, 10)); // until it has left the queue
  const client = new AbortController();
  const gone = service.get(request("a.md"), { signal: client.signal });
  const waiting = service.multiGet({ patterns: ["*"], maxBytes: 1_000 }, { signal });
  assert.is(service.waiting, 2);
  assert.match(await message(service.get(request("a.md"), { signal })), /2 requests are waiting/);
  client.abort(new Error("gone"));
  assert.is(await message(gone), "gone");
  assert.is(service.waiting, 1);
  proceed();
  assert.is((await running).passages.length, 1);
  assert.is((await waiting).documents.length, 1);
  assert.is(begun, 2);
});

test.run();
