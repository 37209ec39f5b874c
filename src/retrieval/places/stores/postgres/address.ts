/** Addresses of collections in PostgreSQL, and connections to their servers. */

import type { Pool } from "pg";
import { InputError } from "../../../../io/errors.ts";
import { checkCollection } from "../collection-name.ts";
import { missingPackage } from "../store-errors.ts";

/** Connections of an open store: searches that run at a time. */
const CONNECTIONS = 8;
const CONNECT_MS = 15_000; // a busy process connects slowly
/** A statement that takes longer is an error: a search must not hang. */
const STATEMENT_MS = 120_000;

/** Each new connection. With filters, an iterative scan goes on until it has enough rows. */
const SETTINGS = [
  "SET hnsw.ef_search = 400",
  "SET hnsw.iterative_scan = relaxed_order",
  "SET jit = off",
].join(";");

/** Of the addresses that were opened: an open index has its address without these parts. */
const HIDDEN_PARTS = new Map<string, { readonly password: string; readonly search: string }>();

/** What the client needs, the schema in SQL, and the address without password and parameters. */
export function parseAddress(given: string): {
  readonly server: string;
  readonly schema: string;
  readonly address: string;
} {
  if (!URL.canParse(given)) throw unreadable();
  const url = new URL(given);
  const shown = new URL(url);
  shown.password = "";
  shown.search = "";
  const [database, collection = "", ...others] = url.pathname.slice(1).split("/");
  const name = checkCollection(others.length > 0 ? "" : collection, shown.href);
  const server = new URL(url);
  server.pathname = `/${database}`;
  const known = HIDDEN_PARTS.get(shown.href);
  server.password ||= known?.password ?? "";
  server.search ||= known?.search ?? ""; // a connection must not lose its encryption
  const { password, search } = server;
  HIDDEN_PARTS.set(shown.href, { password, search });
  return { server: server.href, schema: `"${name}"`, address: shown.href };
}

const unreadable = (): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "store",
    expected: "postgres://USER@HOST:PORT/DATABASE/COLLECTION",
    got: "another form",
    remedy: "correct it; write special characters of a password as %40",
  });

export async function openPool(server: string, address: string): Promise<Pool> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw missingPackage(address, "pg", "", cause);
  });
  const pool = new pg.Pool({
    connectionString: server,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    application_name: "reatt",
    allowExitOnIdle: true,
    onConnect: (client) => client.query(SETTINGS),
  });
  pool.on("error", ignored); // the next call opens another connection
  return pool;
}

/** Of a connection that was lost while it ran nothing. */
export const ignored = (): void => {};
