/** Errors of PostgreSQL and of its client, as one line. */

import { InputError } from "../../../../io/errors.ts";
import { UNSTORABLE } from "../storable.ts";
import { type Described, OTHER } from "../store-errors.ts";

/** What the client says about a connection, where the server has no code. */
const LOST = /terminated|timeout|not queryable|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH/i;

/** What it says about a password that it needs, and about encryption. */
const NO_PASSWORD = /^SASL: .*client password must be/;
const UNENCRYPTED = /\bSSL\b|certificate|ERR_SSL_|ERR_TLS_/i;

const AWAY: Described = {
  code: "ERR_REATT_STORE_AWAY",
  expected: "a server that answers",
  remedy: "start it, or check the address and the network",
};

const REFUSED: Described = {
  code: "ERR_REATT_NO_PERMISSION",
  expected: "the user and the password of the database",
  remedy: "set PGPASSWORD, or name another user in the address",
};

const OTHER_ENCRYPTION: Described = {
  code: "ERR_REATT_BAD_OPTION",
  expected: "a server with the encryption and the certificate that sslmode asks for",
  remedy: "correct sslmode or sslrootcert in the address, or the server",
};

/** By the first characters of the SQLSTATE, the longest first. */
const BY_STATE: readonly (readonly [prefix: string, Described])[] = [
  ["28", REFUSED],
  [
    "42501",
    {
      code: "ERR_REATT_NO_PERMISSION",
      expected: "a user that may do this",
      remedy: "grant CREATE on the database, or create the collection as its owner",
    },
  ],
  [
    "3D000",
    {
      code: "ERR_REATT_NO_INDEX",
      expected: "a database of this name",
      remedy: "create it, or correct the address: postgres://HOST/DATABASE/COLLECTION",
    },
  ],
  [
    "25006",
    {
      code: "ERR_REATT_STORE_AWAY",
      expected: "a server that takes writes",
      remedy: "name the primary server in the address",
    },
  ],
  [
    "53100",
    {
      code: "ERR_REATT_DISK_FULL",
      expected: "space on the disk of the server",
      remedy: "free some, and run it again",
    },
  ],
  ["40", { ...AWAY, remedy: "run it again: another process changed the same passages" }],
  ["53", { ...AWAY, remedy: "allow more connections or memory, or try again later" }],
  ["57", AWAY],
  ["58", { ...AWAY, remedy: "look into the log of the server" }],
  ["08", AWAY],
  [
    "42",
    {
      code: "ERR_REATT_DAMAGED_INDEX",
      expected: "the tables that reatt made",
      remedy: "undo the change of the tables, or import again with --replace",
    },
  ],
  [
    "22000",
    {
      code: "ERR_REATT_DAMAGED_INDEX",
      expected: "vectors of the width that the collection was created with",
      remedy: "undo the change of the column, or import again with --replace",
    },
  ],
];

/** The `InputError` for what a call of the client threw; any other error unchanged. */
export function postgresError(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof InputError) return error;
  const described = describe(error);
  if (!described) return error;
  return new InputError({ where, ...described, got: messageOf(error) }, { cause: error });
}

function describe(error: Error): Described | undefined {
  const { code, severity } = error as Error & { code?: string; severity?: string };
  if (code === undefined || severity === undefined)
    return describeOfClient(`${code ?? ""} ${messageOf(error)}`.trim());
  if (code === "22021" || code === "22P05") return UNSTORABLE;
  return BY_STATE.find(([prefix]) => code.startsWith(prefix))?.[1] ?? OTHER;
}

/** @param said the code, if there is one, and the message */
function describeOfClient(said: string): Described | undefined {
  if (NO_PASSWORD.test(said)) return REFUSED;
  if (LOST.test(said)) return AWAY;
  return UNENCRYPTED.test(said) ? OTHER_ENCRYPTION : undefined;
}

/** The message; a connection that failed at several addresses has one for each. */
const messageOf = (error: Error): string =>
  error.message ||
  (error instanceof AggregateError ? String(error.errors[0]?.message) : error.name);
