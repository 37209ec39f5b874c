/**
 * A collection in PostgreSQL with pgvector. The address is
 * `postgres://USER@HOST:PORT/DATABASE/COLLECTION`, with the parameters of libpq after a `?`, such
 * as `sslmode=verify-full`. The password can be in PGPASSWORD.
 *
 * Sources: https://github.com/pgvector/pgvector#iterative-index-scans, https://node-postgres.com
 */

import type { Pool, QueryResult } from "pg";
import { InputError } from "../../../../io/errors.ts";
import type { Passage } from "../../../../text/passage.ts";
import type { Where } from "../../../where/where.ts";
import { batches } from "../batches.ts";
import { checkCollection } from "../collection-name.ts";
import { PROPERTIES } from "../properties.ts";
import type {
  CandidateRequest,
  NewPassage,
  PassageRow,
  QueryTerm,
  Store,
  StoredPassage,
} from "../store.ts";
import { missingPackage } from "../store-errors.ts";
import { postgresError } from "./errors.ts";
import { COUNTS, createTables } from "./tables.ts";
import { type Bind, conditionSql } from "./where.ts";

/** Connections of an open store: searches that run at a time. */
const CONNECTIONS = 8;
const CONNECT_MS = 15_000; // a busy process connects slowly
/** A statement that takes longer is an error: a search must not hang. */
const STATEMENT_MS = 120_000;
/** Rows that a scan of the collection reads at a time. */
const PAGE = 256;
/** Passages that the rarest terms of a question must have before the others are left out. */
const ENOUGH_PASSAGES = 5_000;

/** Each new connection. With filters, an iterative scan goes on until it has enough rows. */
const SETTINGS = [
  "SET hnsw.ef_search = 400",
  "SET hnsw.iterative_scan = relaxed_order",
  "SET jit = off",
].join(";");

/** A row as the client returns it. */
interface Row extends Omit<PassageRow, "passage" | "tokens" | "cutTokens" | "checksum"> {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly document: string | null;
  readonly metadata: NonNullable<Passage["metadata"]>;
  readonly checksum: string;
  readonly tokens: number;
  readonly cut_tokens: number;
}

const PASSAGE = "id, title, text, document, metadata";

/** @throws {InputError} if the package pg is not installed, or the address has no database */
export async function openPostgres(given: string): Promise<Store> {
  const { server, schema, address } = parseAddress(given);
  const pool = await openPool(server, address);
  const passages = `${schema}.passages`;
  const attempt = <Result>(work: () => Promise<Result>): Promise<Result> =>
    work().catch((error: unknown) => {
      throw postgresError(error, address);
    });
  const query = <Found extends object>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Found>> => attempt(() => pool.query<Found>(text, [...values]));
  const candidates = async (
    request: CandidateRequest,
    sql: (conditions: readonly string[], bind: Bind) => string,
  ): Promise<StoredPassage[]> => {
    const { bind, values } = binder();
    const text = sql(selectionSql(request, bind), bind);
    return (await query<Row>(text, values)).rows.map(storedPassage);
  };
  const page = async (after: string): Promise<Row[]> => {
    const text = `SELECT ${PASSAGE}, codes, digest, checksum, tokens, cut_tokens FROM ${passages}
      WHERE id > $1 ORDER BY id LIMIT ${PAGE}`;
    return (await query<Row>(text, [after])).rows;
  };
  const store: Store = {
    address,
    create: (dimension, properties) =>
      attempt(() => createCollection(pool, schema, dimension, properties)),
    async drop() {
      await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    },
    async record(name) {
      const [table] = (
        await query<{ found: string | null }>("SELECT to_regclass($1) AS found", [
          `${schema}.records`,
        ])
      ).rows;
      if (!table?.found) return undefined;
      const text = `SELECT contents FROM ${schema}.records WHERE name = $1`;
      return (await query<{ contents: string }>(text, [name])).rows[0]?.contents;
    },
    async writeRecord(name, contents) {
      await query(
        `INSERT INTO ${schema}.records VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET contents = excluded.contents`,
        [name, contents],
      );
    },
    async recordNames(prefix) {
      const text = `SELECT name FROM ${schema}.records WHERE starts_with(name, $1) ORDER BY name`;
      return (await query<{ name: string }>(text, [prefix])).rows.map(({ name }) => name);
    },
    async put(given) {
      for (const batch of batches(given)) await query(putSql(passages), putValues(batch));
    },
    async delete(ids) {
      const text = `DELETE FROM ${passages} WHERE id = ANY($1)`;
      return (await query(text, [ids])).rowCount ?? 0;
    },
    async digests(ids) {
      const text = `SELECT id, digest FROM ${passages} WHERE id = ANY($1)`;
      const { rows } = await query<{ id: string; digest: string }>(text, [ids]);
      return new Map(rows.map(({ id, digest }) => [id, digest]));
    },
    get: (ids) =>
      candidates({ count: ids.length, ids }, (conditions) => select(passages, conditions)),
    nearest: (vector, request) =>
      candidates(
        request,
        (conditions, bind) =>
          `${select(passages, conditions)}
            ORDER BY vector <#> ${bind(vectorText(vector))}::halfvec LIMIT ${request.count}`,
      ),
    withWords: async (terms, request) =>
      terms.size === 0
        ? []
        : candidates(request, (conditions, bind) =>
            wordsSql(passages, terms, { conditions, bind, count: request.count }),
          ),
    frequencies: (terms) => termCounts(passages, terms, query),
    async statistics() {
      const sums = Object.keys(COUNTS).map((name) => `coalesce(sum(${name}), 0)::text AS ${name}`);
      const text = `SELECT ${sums.join(", ")} FROM ${schema}.counts`;
      const row = (await query<Record<keyof typeof COUNTS, string>>(text)).rows[0]!;
      return {
        passages: Number(row.passages),
        tokens: Number(row.tokens),
        terms: Number(row.terms),
        cutPassages: Number(row.cut_passages),
        cutTokens: Number(row.cut_tokens),
        version: row.contents,
      };
    },
    async bytes() {
      const text = "SELECT pg_total_relation_size($1)::float8 AS bytes";
      return (await query<{ bytes: number }>(text, [passages])).rows[0]!.bytes;
    },
    async *matching(where: Where) {
      const { bind, values } = binder();
      const condition = conditionSql(where, bind);
      for (let after = ""; ; ) {
        const text = `SELECT ${PASSAGE} FROM ${passages}
          WHERE ${condition} AND id > $${values.length + 1} ORDER BY id LIMIT ${PAGE}`;
        const { rows } = await query<Row>(text, [...values, after]);
        yield* rows.map(passageOf);
        if (rows.length < PAGE) return;
        after = rows.at(-1)!.id;
      }
    },
    async *rows() {
      for (let rows = await page(""); rows.length > 0; rows = await page(rows.at(-1)!.id))
        yield* rows.map(passageRow);
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
  return store;
}

/** Of the addresses that were opened: an open index has its address without these parts. */
const HIDDEN_PARTS = new Map<string, { readonly password: string; readonly search: string }>();

/** What the client needs, the schema in SQL, and the address without password and parameters. */
function parseAddress(given: string): {
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

async function openPool(server: string, address: string): Promise<Pool> {
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
  pool.on("error", () => {}); // an idle connection was lost: the next call opens another one
  return pool;
}

/** Creates the tables and the record, unless there are some, in one transaction. */
async function createCollection(
  pool: Pool,
  schema: string,
  dimension: number,
  properties: string,
): Promise<string> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    for (const statement of createTables(schema, dimension)) await client.query(statement);
    const insert = `INSERT INTO ${schema}.records VALUES ($1, $2) ON CONFLICT DO NOTHING`;
    await client.query(insert, [PROPERTIES, properties]);
    const text = `SELECT contents FROM ${schema}.records WHERE name = $1`;
    const { rows } = await client.query<{ contents: string }>(text, [PROPERTIES]);
    await client.query("COMMIT");
    client.release();
    return rows[0]!.contents;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Collects the values of a statement. */
function binder(): { readonly bind: Bind; readonly values: unknown[] } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

const select = (passages: string, conditions: readonly string[]): string =>
  `SELECT ${PASSAGE}, codes FROM ${passages} WHERE ${["true", ...conditions].join(" AND ")}`;

const selectionSql = ({ where, ids }: CandidateRequest, bind: Bind): string[] => [
  ...(where ? [conditionSql(where, bind)] : []),
  ...(ids ? [`id = ANY(${bind(ids)})`] : []),
];

/** PostgreSQL reads values of halfvec and tsvector as text. */
const vectorText = (vector: Float32Array): string => `[${vector.join(",")}]`;

const quoted = (term: string): string => `'${term.replace(/[\\']/g, "$&$&")}'`;

/** Limits of tsvector. */
const MAX_TERM_BYTES = 2_046;
const MAX_POSITION = 16_383;

/** Longer terms are left out, as a store may do: they only choose candidates. */
const isStorable = (term: string): boolean =>
  term !== "" && Buffer.byteLength(term) <= MAX_TERM_BYTES;

function termsText(terms: readonly string[]): string {
  const positions = new Map<string, number[]>();
  for (const [i, term] of terms.entries()) {
    const known = positions.get(term) ?? [];
    positions.set(term, known);
    known.push(Math.min(i + 1, MAX_POSITION));
  }
  return Array.from(positions)
    .filter(([term]) => isStorable(term))
    .map(([term, places]) => `${quoted(term)}:${places.join(",")}`)
    .join(" ");
}

type Query = <Found extends object>(
  text: string,
  values?: readonly unknown[],
) => Promise<QueryResult<Found>>;

/** The number of passages with each term, in one statement. */
async function termCounts(
  passages: string,
  terms: readonly string[],
  query: Query,
): Promise<number[]> {
  const text = `SELECT (SELECT count(*) FROM ${passages} WHERE terms @@ term::tsquery)::float8 AS count
    FROM unnest($1::text[]) WITH ORDINALITY AS t(term, place) ORDER BY place`;
  const known = terms.filter(isStorable);
  const { rows } = await query<{ count: number }>(text, [known.map(quoted)]);
  const counts = new Map(known.map((term, i) => [term, rows[i]!.count]));
  return terms.map((term) => counts.get(term) ?? 0);
}

/**
 * About BM25: `ts_rank` of one term grows with its frequency about as `tf / (tf + 0.9)` does, and
 * the divisor is the length norm of a term that occurs once, for a mean length of 100 terms. The
 * passages are those with the rarest terms of the question: a passage with common terms alone is
 * not among the best.
 */
function wordsSql(
  passages: string,
  terms: ReadonlyMap<string, QueryTerm>,
  request: { readonly conditions: readonly string[]; readonly bind: Bind; readonly count: number },
): string {
  const { conditions, bind, count } = request;
  const rarest = [...terms]
    .filter(([term]) => isStorable(term))
    .sort(([, a], [, b]) => a.frequency - b.frequency);
  const needed: string[] = [];
  for (let passages = 0; needed.length < rarest.length && passages < ENOUGH_PASSAGES; ) {
    const [term, { frequency }] = rarest[needed.length]!;
    passages += frequency;
    needed.push(term);
  }
  const any = `terms @@ ${bind(needed.map(quoted).join(" | "))}::tsquery`;
  const rank = rarest
    .map(([term, { weight }]) => `${weight} * ts_rank(terms, ${bind(quoted(term))}::tsquery)`)
    .join(" + ");
  return `${select(passages, [...conditions, any])}
    ORDER BY (${rank}) / (1 + 0.9 * (0.6 + 0.004 * term_count)) DESC, id LIMIT ${count}`;
}

const COLUMNS = {
  id: "text",
  title: "text",
  text: "text",
  document: "text",
  metadata: "json",
  digest: "text",
  codes: "bytea",
  checksum: "bigint",
  tokens: "integer",
  cut_tokens: "integer",
  term_count: "integer",
  terms: "tsvector",
  vector: "halfvec",
} as const;

const putSql = (passages: string): string => {
  const names = Object.keys(COLUMNS);
  const given = Object.values(COLUMNS).map((type, i) => `$${i + 1}::${type}[]`);
  const updates = names.slice(1).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${passages} (${names.join(", ")})
    SELECT * FROM unnest(${given.join(", ")})
    ON CONFLICT (id) DO UPDATE SET ${updates.join(", ")}`;
};

/** An array for each column, in the order of `COLUMNS`. */
const putValues = (rows: readonly NewPassage[]): unknown[] => {
  const column = <Value>(of: (row: NewPassage) => Value): Value[] => rows.map(of);
  return [
    column(({ passage }) => passage.id),
    column(({ passage }) => passage.title),
    column(({ passage }) => passage.text),
    column(({ passage }) => passage.document),
    column(({ passage }) => JSON.stringify(passage.metadata ?? {})),
    column(({ digest }) => digest),
    column(({ codes }) => Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength)),
    column(({ checksum }) => checksum),
    column(({ tokens }) => tokens),
    column(({ cutTokens }) => cutTokens),
    column(({ terms }) => terms.length),
    column(({ terms }) => termsText(terms)),
    column(({ vector }) => vectorText(vector)),
  ];
};

const storedPassage = ({ codes, ...row }: Row): StoredPassage => ({
  passage: passageOf(row),
  codes,
});

function passageOf({ id, title, text, document, metadata }: Omit<Row, "codes">): Passage {
  return {
    id,
    title,
    text,
    ...(document !== null && { document }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

const passageRow = (row: Row): PassageRow => ({
  ...storedPassage(row),
  digest: row.digest,
  checksum: Number(row.checksum),
  tokens: row.tokens,
  cutTokens: row.cut_tokens,
});
