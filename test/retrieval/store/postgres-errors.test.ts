import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { postgresError } from "../../../src/retrieval/store/postgres-errors.ts";

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

test.run();
