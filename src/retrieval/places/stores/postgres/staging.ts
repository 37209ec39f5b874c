/**
 * Passages of a synchronisation, which wait in the table `staged` until all are encoded. Then one
 * transaction adds them and deletes others. What waits when a process is killed is not encoded
 * again.
 */

import type { ClientBase, QueryResult } from "pg";
import { batches } from "../batches.ts";
import type { NewPassage, Publication, RecordState, Staging } from "../store.ts";
import { copySql, putSql, putValues } from "./rows.ts";
import { createStaged } from "./tables.ts";

/** Passages that one statement of the transaction adds or deletes. */
const BATCH = 200;

type Queries = Pick<ClientBase, "query">;

/** How statements run. */
interface Connections {
  query<Found extends object>(
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult<Found>>;
  transaction<Result>(work: (client: Queries) => Promise<Result>): Promise<Result>;
  /** A transaction that no other creates or drops beside. */
  alone<Result>(work: (client: Queries) => Promise<Result>): Promise<Result>;
}

export class PostgresStaging implements Staging {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #staged: string;
  #isThere = false;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
    this.#staged = `${schema}.staged`;
  }

  async put(passages: readonly NewPassage[]): Promise<void> {
    await this.#provide();
    for (const batch of batches(passages))
      await this.#connections.query(putSql(this.#staged), putValues(batch));
  }

  async digests(ids: readonly string[]): Promise<Map<string, string>> {
    await this.#provide();
    const text = `SELECT id, digest FROM ${this.#staged} WHERE id = ANY($1)`;
    const { rows } = await this.#connections.query<{ id: string; digest: string }>(text, [ids]);
    return new Map(rows.map(({ id, digest }) => [id, digest]));
  }

  async publish({ put, deleted }: Publication, only: RecordState): Promise<boolean> {
    await this.#provide();
    return this.#connections.transaction(async (client) => {
      const isWhole = await this.#change(client, { put, deleted }, only);
      if (!isWhole) await client.query("ROLLBACK"); // the end of the transaction commits nothing
      return isWhole;
    });
  }

  async #change(
    client: Queries,
    { put, deleted }: Publication,
    only: RecordState,
  ): Promise<boolean> {
    const locked = `SELECT contents FROM ${this.#schema}.records WHERE name = $1 FOR UPDATE`;
    const { rows } = await client.query<{ contents: string }>(locked, [only.name]);
    if (rows[0]?.contents !== only.contents) return false;
    for (const batch of slices([...put].sort(([a], [b]) => (a < b ? -1 : 1))))
      if (!(await this.#move(client, batch))) return false;
    const remove = `DELETE FROM ${this.#schema}.passages WHERE id = ANY($1)`;
    for (const batch of slices(deleted)) await client.query(remove, [batch]);
    await client.query(`DELETE FROM ${this.#staged}`);
    return true;
  }

  /** Whether the collection then has the passages; an earlier try may have moved them. */
  async #move(client: Queries, given: readonly (readonly [string, string])[]): Promise<boolean> {
    const passages = `${this.#schema}.passages`;
    const wanted = [given.map(([id]) => id), given.map(([, digest]) => digest)];
    const { rowCount } = await client.query(copySql(passages, this.#staged), wanted);
    if (rowCount === given.length) return true;
    const text = `SELECT count(*)::int AS count FROM ${passages}
      JOIN unnest($1::text[], $2::text[]) AS wanted (id, digest) USING (id, digest)`;
    const { rows } = await client.query<{ count: number }>(text, wanted);
    return rows[0]!.count === given.length;
  }

  /** Creates the table unless it is there. */
  async #provide(): Promise<void> {
    if (this.#isThere) return;
    const look = "SELECT to_regclass($1) IS NOT NULL AS found";
    const { rows } = await this.#connections.query<{ found: boolean }>(look, [this.#staged]);
    if (!rows[0]!.found)
      await this.#connections.alone(async (client) => {
        for (const statement of createStaged(this.#schema)) await client.query(statement);
      });
    this.#isThere = true;
  }
}

function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let first = 0; first < items.length; first += BATCH) yield items.slice(first, first + BATCH);
}
