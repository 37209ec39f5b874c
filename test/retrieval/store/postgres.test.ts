import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { connectStore } from "../../../src/retrieval/store/address.ts";
import { type ImportOptions, importPassages } from "../../../src/retrieval/store/import.ts";
import { IMPORT_PAUSES, retrying } from "../../../src/retrieval/store/retry.ts";
import { runCaptured } from "../../cli/support.ts";
import { PASSAGES, startTestServer } from "../../server/support.ts";
import { openPostgresServer, type PostgresServer } from "../../support/postgres-server.ts";
import { encode, encodeText, header, makePassages, rejects } from "../support.ts";
import { storeConformance } from "./conformance.ts";

const opened = await openPostgresServer();
if (typeof opened === "string") test.skip(`PostgreSQL: ${opened}`);
else postgresTests(opened);

const importing: ImportOptions = { header, encode, bits: undefined, isImport: true };

function postgresTests(server: PostgresServer): void {
  test.after(async () => {
    await server[Symbol.asyncDispose]();
  });
  let collections = 0;
  const address = (): string => `${server.url}/postgres/c${++collections}`;
  const question = encodeText("w1 w2 w3");

  /** A collection of `count` passages. */
  const imported = async (count: number): Promise<string> => {
    const place = address();
    await using store = await connectStore(place);
    await importPassages(store, makePassages(count), importing);
    return place;
  };
  const sql = async (text: string, values: unknown[] = []): Promise<void> => {
    const client = new pg.Client(`${server.url}/postgres`);
    await client.connect();
    await client.query(text, values).finally(() => client.end());
  };
  const schemaOf = (place: string): string => new URL(place).pathname.split("/")[2]!;

  storeConformance(test, "PostgreSQL", () => connectStore(address()));

  test("an index in PostgreSQL opens, refreshes, tells of itself, and is deleted from", async () => {
    const place = await imported(200);
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

  test("verify names what someone has changed, and counts follow", async () => {
    const place = await imported(50);
    const table = `${schemaOf(place)}.passages`;
    await sql(`UPDATE ${table} SET text = 'changed' WHERE id = 'p1'`);
    await sql(`UPDATE ${table} SET codes = substr(codes, 5) WHERE id = 'p2'`);
    await sql(`DELETE FROM ${table} WHERE id = 'p3'`);
    const damages = await verifyIndex(place);
    assert.equal(
      damages.map(({ path, problem }) => [path.split(": ")[1], problem]),
      [
        ['passage "p1"', "its text or its fields have changed"],
        ['passage "p2"', "its codes have changed"],
      ],
    );
    assert.is((await indexInfo(place)).passages, 49);
  });

  test("each fault is one line with its code", async () => {
    const place = await imported(50);
    const schema = schemaOf(place);
    const fault = async (work: Promise<unknown>, code: string, message: RegExp): Promise<void> => {
      const error = await work.then(
        () => undefined,
        (error: unknown) => error as InputError,
      );
      assert.instance(error, InputError);
      assert.is(error!.code, code);
      assert.match(error!.message, message);
      assert.not.match(error!.message, /secret|\n/);
    };
    await using index = await openIndex(place);
    const search = () => index.search(question, { topK: 5 });
    const wrong = place.replace("secret", "wrong");
    await fault(openIndex(wrong), "ERR_REATT_NO_PERMISSION", /password authentication failed/);
    const elsewhere = place.replace("/postgres/", "/nowhere/");
    await fault(openIndex(elsewhere), "ERR_REATT_NO_INDEX", /database "nowhere" does not exist/);
    await fault(openIndex(`${server.url}/postgres`), "ERR_REATT_BAD_OPTION", /a collection of/);

    await sql(`ALTER TABLE ${schema}.passages RENAME COLUMN codes TO other`);
    await fault(search(), "ERR_REATT_DAMAGED_INDEX", /expected the tables that reatt made/);
    await sql(`ALTER TABLE ${schema}.passages RENAME COLUMN other TO codes`);
    await sql(`DROP INDEX ${schema}.passages_vector`);
    await sql(`ALTER TABLE ${schema}.passages ALTER vector TYPE halfvec(3) USING '[1,2,3]'`);
    await fault(search(), "ERR_REATT_DAMAGED_INDEX", /expected vectors of the width/);
    await using store = await connectStore(place);
    for (const text of ["w1 \0", "w1 \ud83d"]) {
      const passages = [{ id: "odd", title: "", text }];
      const adding = importPassages(store, passages, { ...importing, isImport: false });
      await fault(adding, "ERR_REATT_BAD_INPUT", /got others in the passage "odd"/);
    }

    await sql("CREATE ROLE reader LOGIN PASSWORD 'secret'");
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO reader`);
    const reader = place.replace("reatt:", "reader:");
    await fault(deletePassages(["p1"], { directory: reader }), "ERR_REATT_NO_PERMISSION", /may/);
  });

  test("a server that dies is an error at once, and is found again", async () => {
    const place = await imported(50);
    await using index = await openIndex(place);
    const before = await index.search(question, { topK: 5 });
    await server.kill();
    const away = index.search(question, { topK: 5 });
    await rejects(away, /expected a server that answers, got .*ECONNREFUSED/);
    await rejects(openIndex(place), /expected a server that answers/);
    await server.start();
    assert.equal(await index.search(question, { topK: 5 }), before);
  });

  test("commands over a store print what they print over a folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reatt-store-"));
    const corpus = join(folder, "corpus.jsonl");
    writeFileSync(corpus, PASSAGES.map((one) => JSON.stringify(one)).join("\n"));
    const store = ["--store", `${server.url}/postgres/commands`];
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
    assert.match(await prints("sync", docs, ...store), /0 added, 0 replaced, 1 deleted/);
    rmSync(folder, { recursive: true });
  });

  test("a served store that is away is 503 with Retry-After, and then answers again", async () => {
    await using model = await ReAtt.load("models/reatt-mini");
    const directory = `${server.url}/postgres/served`;
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
    assert.not.match(await away.text(), /postgres|127\.0/);
    assert.is(await ready(), 503);
    await server.start();
    assert.equal(await (await ask()).json(), before);
    assert.is(await ready(), 200);
    await served.close();
  });

  test("an import goes on after its server was killed", async () => {
    const passages = makePassages(2_000);
    const place = address();
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

test.run();
