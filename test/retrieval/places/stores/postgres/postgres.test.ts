import pg from "pg";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../../src/io/errors.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../../src/retrieval/open-index.ts";
import { connectStore, placeOf } from "../../../../../src/retrieval/places/place-of.ts";
import { importPassages } from "../../../../../src/retrieval/places/stores/import.ts";
import { openPostgresServer, type PostgresServer } from "../../../../support/postgres-server.ts";
import { encodeText } from "../../../support.ts";
import { placeConformance } from "../../conformance.ts";
import { storeConformance } from "../conformance.ts";
import { importedInto, importing, type StoreServer, storeUse } from "../use.ts";

const opened = await openPostgresServer();
if (typeof opened === "string") test.skip(`PostgreSQL: ${opened}`);
else postgresTests(opened);

function postgresTests(server: PostgresServer): void {
  test.after(async () => {
    await server[Symbol.asyncDispose]();
  });
  let collections = 0;
  const address = (): string => `${server.url}/postgres/c${++collections}`;
  const question = encodeText("w1 w2 w3");

  const uses: StoreServer = { address, kill: server.kill, start: server.start };
  const sql = async (text: string, values: unknown[] = []): Promise<void> => {
    const client = new pg.Client(`${server.url}/postgres`);
    await client.connect();
    await client.query(text, values).finally(() => client.end());
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
