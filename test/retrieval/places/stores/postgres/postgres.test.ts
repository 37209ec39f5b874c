import pg from "pg";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../../src/io/errors.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../../src/retrieval/open-index.ts";
import type { Place } from "../../../../../src/retrieval/places/place.ts";
import { connectStore, placeOf } from "../../../../../src/retrieval/places/place-of.ts";
import { importPassages } from "../../../../../src/retrieval/places/stores/import.ts";
import { type RankRequest, rank } from "../../../../../src/retrieval/rank.ts";
import type { Passage } from "../../../../../src/text/passage.ts";
import { openPostgresServer, type PostgresServer } from "../../../../support/postgres-server.ts";
import { encode, encodeText, header, makePassages, rejects } from "../../../support.ts";
import { placeConformance } from "../../conformance.ts";
import { storeConformance } from "../conformance.ts";
import { importedInto, importing, type StoreServer, storeUse } from "../use.ts";

const opened = await openPostgresServer();
if (typeof opened === "string") {
  console.log(`skipped: PostgreSQL: ${opened}`);
  test.skip("PostgreSQL");
} else postgresTests(opened);

function postgresTests(server: PostgresServer): void {
  test.after(async () => {
    await server[Symbol.asyncDispose]();
  });
  let collections = 0;
  const address = (): string => `${server.url}/postgres/c${++collections}`;
  const question = encodeText("w1 w2 w3");

  const uses: StoreServer = { address, kill: server.kill, start: server.start };
  const sql = async (text: string, values: unknown[] = []): Promise<pg.QueryResult> => {
    const client = new pg.Client(`${server.url}/postgres`);
    await client.connect();
    return client.query(text, values).finally(() => client.end());
  };
  const schemaOf = (place: string): string => new URL(place).pathname.split("/")[2]!;

  storeConformance(test, "PostgreSQL", () => connectStore(address()));
  storeUse(test, "PostgreSQL", uses);
  placeConformance(test, "PostgreSQL", async () => {
    const at = uses.address();
    return { open: () => placeOf(at), async [Symbol.asyncDispose]() {} };
  });

  test("verify names what someone has changed, and counts follow", async () => {
    const place = await importedInto(uses, 50);
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

  test("only what reatt made is dropped, and a schema with tables of others stays", async () => {
    const count = async (table: string): Promise<number> =>
      (await sql(`SELECT count(*)::int AS count FROM ${table}`)).rows[0].count;
    for (const table of ["invoices", "passages", "records"]) {
      const place = address();
      const schema = schemaOf(place);
      await sql(`CREATE SCHEMA ${schema}`);
      await sql(`CREATE TABLE ${schema}.${table} AS SELECT 'a' AS name, 'b' AS contents`);
      await using store = await connectStore(place);
      const refused = /a collection of reatt alone, got one with \w+, which reatt did not make/;
      await rejects(store.drop(), refused);
      await rejects(
        importPassages(store, makePassages(3), importing),
        /which reatt did not make|,/,
      );
      await rejects(store.create(8, "{}"), refused);
      assert.is(await count(`${schema}.${table}`), 1);
    }
    const place = await importedInto(uses, 50);
    const schema = schemaOf(place);
    await using store = await connectStore(place);
    await sql(`CREATE TABLE ${schema}.invoices (total integer)`);
    await rejects(store.drop(), /got one with invoices/);
    assert.is(await count(`${schema}.passages`), 50);
    await sql(`DROP TABLE ${schema}.invoices`);
    await sql(`CREATE VIEW public.used AS SELECT id FROM ${schema}.passages`);
    await rejects(store.drop(), /used|depend/);
    assert.is(await count("public.used"), 50);
    await sql("DROP VIEW public.used");
    await store.drop();
    const exists = "SELECT to_regnamespace($1) IS NOT NULL AS found";
    assert.equal((await sql(exists, [schema])).rows, [{ found: false }]);

    const given = address(); // a schema that the user made for it
    await sql(`CREATE SCHEMA ${schemaOf(given)}`);
    await using other = await connectStore(given);
    await importPassages(other, makePassages(3), importing);
    await other.drop();
    assert.equal((await sql(exists, [schemaOf(given)])).rows, [{ found: true }]);
  });

  /** Versions of a document: texts, ids and number of passages differ. */
  const version = (name: string, count: number): Passage[] =>
    Array.from({ length: count }, (_, i) => ({
      id: i < 60 ? `d#${i}` : `d#${name}${i}`,
      title: "",
      text: `w1 w2 w${i % 50} ${name}`,
    }));
  const synchronise = async (place: Place, passages: Passage[], before: Passage[]) => {
    const ids = new Set(passages.map(({ id }) => id));
    const deleted = before.map(({ id }) => id).filter((id) => !ids.has(id));
    await place.exclusively(() => place.add(passages, { header, encode, deleted }));
  };

  test("a reader beside a synchronisation sees the old document or the new one", async () => {
    const versions = ["old", "new", "newer"].map((name, i) => version(name, 130 - 20 * i));
    const address = uses.address();
    await using place = placeOf(address);
    await place.build(versions[0]!, { header, encode });
    await using index = await openIndex(address);
    const questions = ["w1 w2 w3", "w7 old new newer"].map((text) => ({
      text,
      vectors: encodeText(text),
    }));
    let isWriting = true;
    let questionsAsked = 0;
    const read = async (hybrid: RankRequest["hybrid"]): Promise<void> => {
      for (; isWriting; questionsAsked++) {
        const request = { topK: 100, granularity: "passage", hybrid, filter: undefined } as const;
        const rest = { where: undefined, minScore: undefined, signal: undefined };
        const found = await index.snapshot(async (generation) => {
          const ranked = await rank(generation, questions, { ...request, ...rest });
          const all: string[] = [];
          for await (const [, { text }] of generation.entries()) all.push(text);
          return [...ranked.flat().map(({ passage }) => passage.text), ...all];
        });
        const seen = new Set(found.map((text) => text.split(" ").at(-1)));
        assert.is(seen.size, 1, [...seen].join(" and "));
      }
    };
    const write = async (): Promise<void> => {
      for (let round = 1; round <= 6; round++)
        await synchronise(place, versions[round % 3]!, versions[(round + 2) % 3]!);
    };
    const writing = write().finally(() => {
      isWriting = false;
    });
    await Promise.all([writing, read(undefined), read({ lambda: 0.5 })]);
    assert.ok(questionsAsked > 2, `${questionsAsked}`);
    assert.equal(await verifyIndex(address), []);
    assert.is((await indexInfo(address)).passages, versions[0]!.length);
  });

  test("a synchronisation that was stopped shows nothing, and is not encoded again", async () => {
    const address = uses.address();
    const [before, after] = [version("old", 600), version("new", 700)];
    await using place = placeOf(address);
    await place.build(before, { header, encode });
    await sql(`DROP TABLE ${schemaOf(address)}.staged`); // as an earlier version left it
    const texts = async (): Promise<string[]> => {
      await using reader = await place.read();
      const all: string[] = [];
      for await (const { text } of reader.passages()) all.push(text);
      return all.sort();
    };
    const sorted = (passages: Passage[]): string[] => passages.map(({ text }) => text).sort();
    let encoded = 0;
    const stopping = place.exclusively(() =>
      place.add(after, {
        header,
        deleted: ["d#0"],
        encode: async (window) => {
          if (encoded > 0) throw new Error("stopped");
          encoded += window.length;
          return encode(window);
        },
      }),
    );
    await rejects(stopping, /stopped/);
    assert.equal(await texts(), sorted(before));
    const events: string[] = [];
    const ids = new Set(after.map(({ id }) => id));
    const deleted = before.map(({ id }) => id).filter((id) => !ids.has(id));
    await place.exclusively(() =>
      place.add(after, {
        header,
        deleted,
        onProgress: ({ event }) => events.push(event),
        encode: async (window) => {
          encoded += window.length;
          return encode(window);
        },
      }),
    );
    assert.is(encoded, 700);
    assert.equal(events.slice(-2), ["publishing", "finished"]);
    assert.equal(await texts(), sorted(after));
    assert.equal((await sql(`SELECT count(*)::int FROM ${schemaOf(address)}.staged`)).rows, [
      { count: 0 },
    ]);
    await using store = await connectStore(address);
    await store.drop();
  });

  test("of two synchronisations, the earlier one publishes nothing", async () => {
    const address = uses.address();
    await using place = placeOf(address);
    await place.build(version("old", 3), { header, encode });
    await using store = await connectStore(address);
    await store.writeRecord("synchronisation", "later");
    const only = { name: "synchronisation", contents: "earlier" };
    const change = { put: new Map(), deleted: ["d#0"] };
    assert.is(await store.staging!.publish(change, only), false);
    const waits = { put: new Map([["d#9", "digest"]]), deleted: ["d#0"] };
    assert.is(await store.staging!.publish(waits, { ...only, contents: "later" }), false);
    assert.is((await store.statistics()).passages, 3);
    assert.is(await store.staging!.publish(change, { ...only, contents: "later" }), true);
    assert.is((await store.statistics()).passages, 2);
  });

  test("changed properties are damage, and metadata that are null are none", async () => {
    const place = await importedInto(uses, 50);
    const schema = schemaOf(place);
    await sql(`UPDATE ${schema}.passages SET metadata = 'null' WHERE id = 'p1'`);
    await using store = await connectStore(place);
    const [found] = await store.get(["p1"]);
    assert.not.ok("metadata" in found!.passage);
    assert.equal(await verifyIndex(place), []);
    await sql(`UPDATE ${schema}.records
      SET contents = replace(contents, '"maxPassageTokens":', '"maxPassageTokens":1')
      WHERE name = 'properties'`);
    const damaged = /expected the properties that reatt wrote, got others, by their checksum/;
    await rejects(openIndex(place), damaged);
    await rejects(verifyIndex(place), damaged);
    await rejects(importPassages(store, makePassages(60), importing), damaged);
  });

  test("long ids and passages of very many words are kept up to a limit", async () => {
    const place = await importedInto(uses, 50);
    await using store = await connectStore(place);
    const adding = { ...importing, isImport: false };
    const id = String.fromCodePoint(...Array.from({ length: 866 }, (_, i) => 0x4e00 + 17 * i));
    const words = Array.from({ length: 200_000 }, (_, i) => `word${i.toString(36)}`);
    const long = { id, title: "", text: words.join(" "), document: id };
    await importPassages(store, [long], adding);
    assert.equal((await store.get([id]))[0]!.passage, long);
    assert.equal(await verifyIndex(place), []);
    for (const other of [{ id: `${id}${id}` }, { document: `${id}a${id}` }]) {
      const text = "w1";
      const refused =
        /an id and a document of at most 2600 bytes.*, got (?:id|document) of 519\d; /;
      await rejects(importPassages(store, [{ ...long, text, ...other }], adding), refused);
    }
  });

  test("each fault is one line with its code", async () => {
    const place = await importedInto(uses, 50);
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
}

test.run();
