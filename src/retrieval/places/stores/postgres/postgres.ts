/**
 * A collection in PostgreSQL with pgvector. The address is
 * `postgres://USER@HOST:PORT/DATABASE/COLLECTION`, with the parameters of libpq after a `?`, such
 * as `sslmode=verify-full`. The password can be in PGPASSWORD.
 *
 * Sources: https://github.com/pgvector/pgvector#iterative-index-scans, https://node-postgres.com
 */

import type { Pool, PoolClient, QueryResult } from "pg";
import type { Passage } from "../../../../text/passage.ts";
import type { Where } from "../../../where/where.ts";
import { batches } from "../batches.ts";
import { PROPERTIES } from "../properties.ts";
import type {
  CandidateRequest,
  NewPassage,
  PassageRow,
  QueryTerm,
  Store,
  StoredPassage,
  StoreStatistics,
} from "../store.ts";
import { ignored, openPool, parseAddress } from "./address.ts";
import { postgresError } from "./errors.ts";
import { checkOwnSchema, dropCollection } from "./ownership.ts";
import {
  PASSAGE,
  passageOf,
  passageRow,
  putSql,
  putValues,
  type Row,
  storedPassage,
  vectorText,
} from "./rows.ts";
import { Snapshots } from "./snapshots.ts";
import { PostgresStaging } from "./staging.ts";
import { COUNTS, createTables, LOCK_TABLES } from "./tables.ts";
import { type Bind, conditionSql } from "./where.ts";
import { isStorable, quoted, wordsSql } from "./words.ts";

/** Rows that a scan of the collection reads at a time. */
const PAGE = 256;

/** What candidates are chosen by. */
interface Choice {
  readonly condition?: string;
  readonly order?: string;
}

/** @throws {InputError} if the package pg is not installed, or the address has no database */
export async function openPostgres(given: string): Promise<Store> {
  const { server, schema, address } = parseAddress(given);
  return new PostgresStore(await openPool(server, address), schema, address);
}

class PostgresStore implements Store {
  readonly address: string;
  readonly staging: Store["staging"];
  readonly #pool: Pool;
  readonly #snapshots: Snapshots;
  /** As a name of SQL, as are the tables. */
  readonly #schema: string;
  readonly #passages: string;
  readonly #records: string;

  constructor(pool: Pool, schema: string, address: string) {
    this.address = address;
    this.#pool = pool;
    this.#snapshots = new Snapshots(pool);
    this.staging = new PostgresStaging(
      {
        query: (text, values) => this.#query(text, values),
        transaction: (work) => this.#transaction(work),
        alone: (work) => this.#whileAlone(work),
      },
      schema,
    );
    this.#schema = schema;
    this.#passages = `${schema}.passages`;
    this.#records = `${schema}.records`;
  }

  create(dimension: number, properties: string): Promise<string> {
    return this.#whileAlone(async (client) => {
      await checkOwnSchema(client, this.#schema, this.address);
      return createCollection(client, this.#schema, dimension, properties);
    });
  }

  drop(): Promise<void> {
    return this.#whileAlone((client) => dropCollection(client, this.#schema, this.address));
  }

  async record(name: string): Promise<string | undefined> {
    const table = "SELECT to_regclass($1) AS found";
    const [row] = await this.#rows<{ found: string | null }>(table, [this.#records]);
    if (!row?.found) {
      await this.#attempt(() => checkOwnSchema(this.#pool, this.#schema, this.address));
      return undefined;
    }
    const text = `SELECT contents FROM ${this.#records} WHERE name = $1`;
    return (await this.#rows<{ contents: string }>(text, [name]))[0]?.contents;
  }

  async writeRecord(name: string, contents: string): Promise<void> {
    const text = `INSERT INTO ${this.#records} VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET contents = excluded.contents`;
    await this.#query(text, [name, contents]);
  }

  async recordNames(prefix: string): Promise<string[]> {
    const text = `SELECT name FROM ${this.#records} WHERE starts_with(name, $1) ORDER BY name`;
    return (await this.#rows<{ name: string }>(text, [prefix])).map(({ name }) => name);
  }

  async put(given: readonly NewPassage[]): Promise<void> {
    for (const batch of batches(given)) await this.#query(putSql(this.#passages), putValues(batch));
  }

  async delete(ids: readonly string[]): Promise<number> {
    const text = `DELETE FROM ${this.#passages} WHERE id = ANY($1)`;
    return (await this.#query(text, [ids])).rowCount ?? 0;
  }

  async digests(ids: readonly string[]): Promise<Map<string, string>> {
    const text = `SELECT id, digest FROM ${this.#passages} WHERE id = ANY($1)`;
    const rows = await this.#rows<{ id: string; digest: string }>(text, [ids]);
    return new Map(rows.map(({ id, digest }) => [id, digest]));
  }

  get(ids: readonly string[]): Promise<StoredPassage[]> {
    return this.#candidates({ count: ids.length, ids }, () => ({}));
  }

  nearest(vector: Float32Array, request: CandidateRequest): Promise<StoredPassage[]> {
    return this.#candidates(request, (bind) => ({
      order: `vector <#> ${bind(vectorText(vector))}::halfvec`,
    }));
  }

  async withWords(
    terms: ReadonlyMap<string, QueryTerm>,
    request: CandidateRequest,
  ): Promise<StoredPassage[]> {
    return terms.size === 0 ? [] : this.#candidates(request, (bind) => wordsSql(terms, bind));
  }

  /** The number of passages with each term, in one statement. */
  async frequencies(terms: readonly string[]): Promise<number[]> {
    const count = `SELECT count(*) FROM ${this.#passages} WHERE terms @@ term::tsquery`;
    const text = `SELECT (${count})::float8 AS count
      FROM unnest($1::text[]) WITH ORDINALITY AS t(term, place) ORDER BY place`;
    const known = terms.filter(isStorable);
    const rows = await this.#rows<{ count: number }>(text, [known.map(quoted)]);
    const counts = new Map(known.map((term, i) => [term, rows[i]!.count]));
    return terms.map((term) => counts.get(term) ?? 0);
  }

  async statistics(): Promise<StoreStatistics> {
    const sums = Object.keys(COUNTS).map((name) => `coalesce(sum(${name}), 0)::text AS ${name}`);
    const text = `SELECT ${sums.join(", ")} FROM ${this.#schema}.counts`;
    const row = (await this.#rows<Record<keyof typeof COUNTS, string>>(text))[0]!;
    return {
      passages: Number(row.passages),
      tokens: Number(row.tokens),
      terms: Number(row.terms),
      cutPassages: Number(row.cut_passages),
      cutTokens: Number(row.cut_tokens),
      version: row.contents,
    };
  }

  async bytes(): Promise<number> {
    const text = "SELECT pg_total_relation_size($1)::float8 AS bytes";
    return (await this.#rows<{ bytes: number }>(text, [this.#passages]))[0]!.bytes;
  }

  async *matching(where: Where): AsyncGenerator<Passage> {
    for await (const row of this.#scan(PASSAGE, (bind) => conditionSql(where, bind)))
      yield passageOf(row);
  }

  async *rows(): AsyncGenerator<PassageRow> {
    const columns = `${PASSAGE}, codes, digest, checksum, tokens, cut_tokens`;
    for await (const row of this.#scan(columns, () => "true")) yield passageRow(row);
  }

  snapshot<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#snapshots.run(work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }

  #attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    return work().catch((error: unknown) => {
      throw postgresError(error, this.address);
    });
  }

  #transaction<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    return this.#attempt(async () => {
      const client = await this.#pool.connect();
      client.on("error", ignored);
      let isLost = true;
      try {
        await client.query("BEGIN");
        const result = await work(client);
        await client.query("COMMIT");
        isLost = false;
        return result;
      } finally {
        client.off("error", ignored);
        client.release(isLost);
      }
    });
  }

  /** A transaction that no other creates or drops beside. */
  #whileAlone<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    return this.#transaction(async (client) => {
      await client.query(LOCK_TABLES);
      return work(client);
    });
  }

  #query<Found extends object>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Found>> {
    return this.#attempt(() => this.#snapshots.query<Found>(text, [...values]));
  }

  async #rows<Found extends object>(text: string, values?: readonly unknown[]): Promise<Found[]> {
    return (await this.#query<Found>(text, values)).rows;
  }

  async #candidates(
    { where, ids, count }: CandidateRequest,
    choose: (bind: Bind) => Choice,
  ): Promise<StoredPassage[]> {
    const { bind, values } = binder();
    const conditions = ["true"];
    if (where) conditions.push(conditionSql(where, bind));
    if (ids) conditions.push(`id = ANY(${bind(ids)})`);
    const { condition, order } = choose(bind);
    if (condition) conditions.push(condition);
    const text = `SELECT ${PASSAGE}, codes FROM ${this.#passages}
      WHERE ${conditions.join(" AND ")} ${order ? `ORDER BY ${order} LIMIT ${count}` : ""}`;
    return (await this.#rows<Row>(text, values)).map(storedPassage);
  }

  /** The rows that pass, in the order of their ids. */
  async *#scan(columns: string, conditionOf: (bind: Bind) => string): AsyncGenerator<Row> {
    const { bind, values } = binder();
    const condition = conditionOf(bind);
    const text = `SELECT ${columns} FROM ${this.#passages}
      WHERE ${condition} AND id > $${values.length + 1} ORDER BY id LIMIT ${PAGE}`;
    for (let after = ""; ; ) {
      const rows = await this.#rows<Row>(text, [...values, after]);
      yield* rows;
      if (rows.length < PAGE) return;
      after = rows.at(-1)!.id;
    }
  }
}

/** Creates the tables and the record, unless there are some. */
async function createCollection(
  client: PoolClient,
  schema: string,
  dimension: number,
  properties: string,
): Promise<string> {
  for (const statement of createTables(schema, dimension)) await client.query(statement);
  const insert = `INSERT INTO ${schema}.records VALUES ($1, $2) ON CONFLICT DO NOTHING`;
  await client.query(insert, [PROPERTIES, properties]);
  const text = `SELECT contents FROM ${schema}.records WHERE name = $1`;
  return (await client.query<{ contents: string }>(text, [PROPERTIES])).rows[0]!.contents;
}

/** Collects the values of a statement. */
function binder(): { readonly bind: Bind; readonly values: unknown[] } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}
