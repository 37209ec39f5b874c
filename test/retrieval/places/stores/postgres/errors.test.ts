import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../../src/io/errors.ts";
import { postgresError } from "../../../../../src/retrieval/places/stores/postgres/errors.ts";
import { openPostgres } from "../../../../../src/retrieval/places/stores/postgres/postgres.ts";
import { termsText } from "../../../../../src/retrieval/places/stores/postgres/words.ts";
import { rejects } from "../../../support.ts";

/** What the client throws for a state of the server. */
const ofServer = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, severity: "ERROR" });

const ofConnection = (message: string, code?: string): Error =>
  Object.assign(new Error(message), { code });

test("errors of the server and of the connection have codes, and the password stays out", () => {
  for (const [error, code] of [
    [ofServer("53100", "could not extend file: No space left on device"), "ERR_REATT_DISK_FULL"],
    [ofServer("53300", "too many clients already"), "ERR_REATT_STORE_AWAY"],
    [ofServer("57P01", "terminating connection"), "ERR_REATT_STORE_AWAY"],
    [ofServer("57P03", "the database system is starting up"), "ERR_REATT_STORE_AWAY"],
    [ofServer("25006", "cannot execute INSERT in a read-only transaction"), "ERR_REATT_STORE_AWAY"],
    [ofServer("28P01", "password authentication failed"), "ERR_REATT_NO_PERMISSION"],
    [ofServer("42501", "permission denied for schema"), "ERR_REATT_NO_PERMISSION"],
    [ofServer("42P01", 'relation "x" does not exist'), "ERR_REATT_DAMAGED_INDEX"],
    [ofServer("22000", "expected 256 dimensions, not 8"), "ERR_REATT_DAMAGED_INDEX"],
    [ofServer("XX000", "internal"), "ERR_REATT_DAMAGED_INDEX"],
    [ofConnection("connect ECONNREFUSED 127.0.0.1:1", "ECONNREFUSED"), "ERR_REATT_STORE_AWAY"],
    [ofConnection("Connection terminated unexpectedly"), "ERR_REATT_STORE_AWAY"],
    [ofConnection("timeout exceeded when trying to connect"), "ERR_REATT_STORE_AWAY"],
    [ofConnection("getaddrinfo ENOTFOUND nowhere", "ENOTFOUND"), "ERR_REATT_STORE_AWAY"],
    [
      ofConnection("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"),
      "ERR_REATT_NO_PERMISSION",
    ],
    [ofConnection("The server does not support SSL connections"), "ERR_REATT_BAD_OPTION"],
    [
      ofConnection("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"),
      "ERR_REATT_BAD_OPTION",
    ],
  ] as const) {
    const shown = postgresError(error, "postgres://host/db/c") as InputError;
    assert.instance(shown, InputError, error.message);
    assert.is(shown.code, code, error.message);
    assert.is(shown.got, error.message);
  }
});

test("an error that nothing explains stays what it is", () => {
  const defect = new TypeError("x is not a function");
  assert.is(postgresError(defect, "here"), defect);
});

/** What a client asks for first if its connection is to be encrypted. */
const SSL_REQUEST = 80_877_103;

test("the address of an open store, which has no parameters, connects with the same ones", async () => {
  const asked: number[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      asked.push(data.readInt32BE(4));
      socket.end("N"); // no encryption
    });
  }).listen(0, "127.0.0.1");
  server.unref(); // a failed test must end
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const first = `postgres://user@127.0.0.1:${port}/base/parameters`;
  let address = `${first}?sslmode=require`;
  for (let i = 0; i < 2; i++) {
    await using store = await openPostgres(address);
    await rejects(store.record("properties"), /sslmode/);
    ({ address } = store);
  }
  server.close();
  assert.is(address, first);
  assert.equal(asked, [SSL_REQUEST, SSL_REQUEST]);
});

test("the terms of a passage have at most the bytes of a tsvector", () => {
  const terms = Array.from({ length: 200_000 }, (_, i) => `term${i}`);
  const kept = termsText([...terms, ...Array(1_000).fill("term0")]).split(" ");
  const bytes = kept.map((one) => {
    const [, term = "", places = ""] = /^'(.*)':(.*)$/.exec(one)!;
    return term.length + 3 + 2 * places.split(",").length;
  });
  const sum = bytes.reduce((all, one) => all + one);
  assert.ok(sum <= 2 ** 20 - 1 && sum > 2 ** 20 - 100, `${sum}`);
  assert.equal(
    kept.map((one) => one.split("'")[1]),
    terms.slice(0, kept.length),
  );
  assert.is(kept[0]!.split(",").length, 255);
});

test.run();
