/** Tests of what people do with a store, on a server that can be killed. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import { connectStore } from "../../../../src/retrieval/places/place-of.ts";
import {
  type ImportOptions,
  importPassages,
} from "../../../../src/retrieval/places/stores/import.ts";
import { IMPORT_PAUSES, retrying } from "../../../../src/retrieval/places/stores/retry.ts";
import { runCaptured } from "../../../cli/support.ts";
import { PASSAGES, startTestServer } from "../../../server/support.ts";
import { encode, encodeText, header, makePassages, rejects } from "../../support.ts";

/** A server with collections. */
export interface StoreServer {
  /** Of a new collection. */
  address(): string;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export const importing: ImportOptions = { header, encode, bits: undefined, isImport: true };

/** The address of a new collection of `count` passages. */
export async function importedInto(server: StoreServer, count: number): Promise<string> {
  const place = server.address();
  await using store = await connectStore(place);
  await importPassages(store, makePassages(count), importing);
  return place;
}

export function storeUse(suite: Test, name: string, server: StoreServer): void {
  const test = (what: string, run: () => Promise<void>) => suite(`${name}: ${what}`, run);
  const question = encodeText("w1 w2 w3");

  test("an index opens, refreshes, tells of itself, and is deleted from", async () => {
    const place = await importedInto(server, 200);
    await using index = await openIndex(place);
    assert.not.match(index.directory, /secret/);
    assert.is(index.passageCount, 200);
    const [best] = await index.search(question, { topK: 1 });
    assert.is(await index.refresh(), false);
    assert.is(await deletePassages([best!.id, "none"], { directory: place }), 1);
    assert.is(await index.refresh(), true);
    assert.is(index.passageCount, 199);
    assert.is(await index.find(best!.id), undefined);
    const info = await indexInfo(place);
    assert.equal([info.passages, info.bits, info.parts?.length], [199, 32, 1]);
    assert.ok(info.bytes > 0);
    assert.equal(await verifyIndex(place), []);
  });

  test("a server that dies is an error at once, and is found again", async () => {
    const place = await importedInto(server, 50);
    await using index = await openIndex(place);
    const before = await index.search(question, { topK: 5 });
    await server.kill();
    const away = index.search(question, { topK: 5 });
    await rejects(away, /expected a (server|node) that answers, got .*ECONNREFUSED/);
    await rejects(openIndex(place), /expected a (server|node) that answers/);
    await server.start();
    assert.equal(await index.search(question, { topK: 5 }), before);
  });

  test("commands over a store print what they print over a folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reatt-store-"));
    const corpus = join(folder, "corpus.jsonl");
    writeFileSync(corpus, PASSAGES.map((one) => JSON.stringify(one)).join("\n"));
    const store = ["--store", server.address()];
    const index = ["--index", join(folder, "index")];
    const prints = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCaptured(args);
      assert.is(code, 0, stderr);
      return stdout;
    };
    await prints("index", "--corpus", corpus, ...store);
    await prints("index", "--corpus", corpus, "--out", join(folder, "index"));
    const question = "Who patented a steam engine?";
    for (const args of [
      ["retrieve", question, "--json", "--explain"],
      ["retrieve", question, "--json", "--where", "year > 1800", "--no-hybrid"],
      ["retrieve", question, "--json", "--granularity", "document", "--top-k", "2"],
    ])
      assert.equal(await prints(...args, ...store), await prints(...args, ...index));
    const answered = async (place: readonly string[]) => {
      const reply = JSON.parse(await prints("answer", question, "--json", ...place));
      return { ...reply, times: undefined };
    };
    const replied = await answered(store); // one after the other: both print to one stdout
    assert.equal(replied, await answered(index));
    assert.match(await prints("index", "info", ...store), /parts +1 of 1 finished/);
    assert.is(await prints("index", "verify", ...store), "whole\n");
    const again = await runCaptured(["index", "--corpus", corpus, ...store]);
    assert.match(again.stderr, /got a whole one; add passages with reatt index add/);

    writeFileSync(join(folder, "news.txt"), "The lion lives in Africa and in India.");
    await prints("index", "add", "--corpus", join(folder, "news.txt"), ...store);
    assert.is(await prints("index", "delete", "rhine", ...store), "1 passages deleted\n");
    const docs = mkdtempSync(join(folder, "docs-"));
    writeFileSync(join(docs, "cat.txt"), "Cats purr and sleep up to twenty hours a day.");
    assert.match(await prints("sync", docs, ...store), /1 added, 0 replaced, 0 deleted/);
    assert.match(await prints("sync", docs, ...store), /0 added, .* 1 unchanged/);
    rmSync(join(docs, "cat.txt"));
    assert.match(
      await prints("sync", docs, "--delete", ...store),
      /0 added, 0 replaced, 1 deleted/,
    );
    rmSync(folder, { recursive: true });
  });

  test("a served store that is away is 503 with Retry-After, and then answers again", async () => {
    await using model = await ReAtt.load("models/reatt-mini");
    const directory = server.address();
    await using index = await model.index(PASSAGES, { directory });
    const served = await startTestServer({ index });
    const ask = () =>
      fetch(`${served.url}/v1/retrieve`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ question: "Who patented a steam engine?", topK: 1 }),
      });
    const ready = async () => (await fetch(`${served.url}/readyz`)).status;
    const before = await (await ask()).json();
    assert.is(await ready(), 200);
    await server.kill();
    const away = await ask();
    assert.equal([away.status, away.headers.get("Retry-After")], [503, "5"]);
    assert.not.match(await away.text(), /postgres|weaviate|127\.0/);
    assert.is(await ready(), 503);
    await server.start();
    assert.equal(await (await ask()).json(), before);
    assert.is(await ready(), 200);
    await served.close();
  });

  test("a passage that no store keeps is 400 with one line, and nothing changes", async () => {
    await using model = await ReAtt.load("models/reatt-mini");
    const directory = server.address();
    await using index = await model.index(PASSAGES, { directory });
    const served = await startTestServer({ index, writable: true });
    const send = (method: string, path: string, body?: object) =>
      fetch(`${served.url}/v1/passages${path}`, {
        method,
        headers: { "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    const given = { id: "new", text: "The lion lives in Africa." };
    const refused = await send("PUT", "", { passages: [given, { id: "odd", text: "a\0" }] });
    assert.is(refused.status, 400);
    const { error } = (await refused.json()) as { error: { message: string } };
    assert.match(error.message, /^passages: expected texts .* without the character U\+0000/);
    assert.match(error.message, /got others in the passage "odd"; remove such characters/);
    assert.is(await index.find("new"), undefined);
    assert.is((await send("DELETE", "/%00")).status, 404);
    assert.is((await send("PUT", "", { passages: [given] })).status, 200);
    await served.close();
  });

  test("an import goes on after its server was killed", async () => {
    const passages = makePassages(2_000);
    const place = server.address();
    await using store = retrying(await connectStore(place), IMPORT_PAUSES);
    let encoded = 0;
    let restarted: Promise<void> | undefined;
    await importPassages(store, passages, {
      ...importing,
      encode: async (window) => {
        encoded += window.length;
        if (encoded > 1_000 && !restarted) {
          await server.kill();
          restarted = server.start();
        }
        return encode(window);
      },
    });
    await restarted;
    assert.is(encoded, 2_000); // what was acknowledged is not encoded again
    assert.equal(await verifyIndex(place), []);
    assert.is((await indexInfo(place)).passages, 2_000);
  });
}
