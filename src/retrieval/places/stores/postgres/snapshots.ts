/**
 * Reads of one moment: a transaction (`REPEATABLE READ`) that begins with the first of them. Each
 * has a connection of its own until its work ends.
 *
 * Source: https://www.postgresql.org/docs/current/transaction-iso.html#XACT-REPEATABLE-READ
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient, QueryResult } from "pg";
import { ignored } from "./address.ts";

const BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Runs statements in the snapshot of the work that asks for them; without one, each alone. */
export class Snapshots {
  readonly #pool: Pool;
  /** Snapshots that may still begin. One connection is left for statements without a snapshot. */
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #current = new AsyncLocalStorage<Snapshot>();

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#free = pool.options.max - 1;
  }

  /** Work inside of other work has its snapshot. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#current.getStore()?.isOpen) return work();
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const snapshot = new Snapshot(this.#pool);
    try {
      return await this.#current.run(snapshot, work);
    } finally {
      await snapshot.end();
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }

  query<Found extends object>(text: string, values: unknown[]): Promise<QueryResult<Found>> {
    const snapshot = this.#current.getStore();
    return snapshot?.isOpen
      ? snapshot.query<Found>(text, values)
      : this.#pool.query<Found>(text, values);
  }
}

class Snapshot {
  readonly #pool: Pool;
  #client: PoolClient | undefined;
  /** The error that ended the transaction. */
  #failure: { readonly error: unknown } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  isOpen = true;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** A connection runs one statement at a time. */
  query<Found extends object>(text: string, values: unknown[]): Promise<QueryResult<Found>> {
    const result = this.#last.then(() => this.#run<Found>(text, values));
    this.#last = result.catch(() => {});
    return result;
  }

  async #run<Found extends object>(text: string, values: unknown[]): Promise<QueryResult<Found>> {
    if (this.#failure) throw this.#failure.error;
    const client = this.#client ?? (await this.#begin());
    try {
      return await client.query<Found>(text, values);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** A beginning that fails can be tried again: nothing was read. */
  async #begin(): Promise<PoolClient> {
    const client = await this.#pool.connect();
    client.on("error", ignored);
    try {
      await client.query(BEGIN);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#client = client;
    return client;
  }

  async end(): Promise<void> {
    this.isOpen = false;
    await this.#last;
    const client = this.#client;
    if (!client) return;
    const isWhole = !this.#failure && (await client.query("COMMIT").then(yes, no));
    client.off("error", ignored);
    client.release(!isWhole);
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;
