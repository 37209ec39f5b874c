/**
 * The tables of a collection, in a schema of its name.
 *
 *     passages   a row for each passage
 *     staged     passages that a synchronisation is going to add (staging.ts)
 *     records    texts by name: the properties, the parts of an import, the record of a folder
 *     counts     sums over `passages`, which triggers keep, whoever changes the rows. Each
 *                connection has a row of its own, so that writers do not wait for each other
 */

import { createSchema, markAll, markTable } from "./ownership.ts";

/** Names that differ from any other user's advisory locks with great probability. */
const LOCK = 0x72_65_61_74; // "reat"

/** Lets one transaction at a time create or drop: CREATE ... IF NOT EXISTS fails beside another. */
export const LOCK_TABLES = `SELECT pg_advisory_xact_lock(${LOCK})`;

/** The statements that create a collection, unless it is there. One transaction runs them all. */
export const createTables = (schema: string, dimension: number): readonly string[] => [
  "CREATE EXTENSION IF NOT EXISTS vector",
  createSchema(schema),
  `CREATE TABLE IF NOT EXISTS ${schema}.records (name text PRIMARY KEY, contents text NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${schema}.passages (
     id text COLLATE "C" PRIMARY KEY,
     title text NOT NULL,
     text text NOT NULL,
     document text,
     metadata json NOT NULL,
     digest text NOT NULL,
     codes bytea NOT NULL,
     checksum bigint NOT NULL,
     tokens integer NOT NULL,
     cut_tokens integer NOT NULL,
     term_count integer NOT NULL,
     terms tsvector NOT NULL,
     vector halfvec(${dimension}) NOT NULL)`,
  // Codes do not compress. Terms stay in the row: ranking reads them of thousands of passages.
  `ALTER TABLE ${schema}.passages ALTER codes SET STORAGE EXTERNAL, ALTER terms SET STORAGE MAIN,
     SET (toast_tuple_target = 4080)`,
  `CREATE INDEX IF NOT EXISTS passages_vector ON ${schema}.passages
     USING hnsw (vector halfvec_ip_ops)`,
  `CREATE INDEX IF NOT EXISTS passages_terms ON ${schema}.passages USING gin (terms)`,
  `CREATE INDEX IF NOT EXISTS passages_fields ON ${schema}.passages
     USING gin ((metadata::jsonb) jsonb_path_ops)`,
  `CREATE INDEX IF NOT EXISTS passages_document ON ${schema}.passages (document)`,
  ...createStaged(schema),
  ...createCounts(schema),
  ...markAll(schema),
];

/** A collection of a version before 2026-12 has no such table. */
export const createStaged = (schema: string): readonly string[] => [
  `CREATE TABLE IF NOT EXISTS ${schema}.staged
     (LIKE ${schema}.passages INCLUDING STORAGE, PRIMARY KEY (id))`,
  markTable(schema, "staged"),
];

/** What is counted: a name and its SQL over rows of passages. */
export const COUNTS = {
  passages: "count(*)",
  tokens: "sum(tokens)",
  terms: "sum(term_count)",
  cut_passages: "count(*) FILTER (WHERE cut_tokens > 0)",
  cut_tokens: "sum(cut_tokens)",
  contents: "sum(hashtext(digest)::bigint)", // another sum after each change of a passage
} as const;

const NAMES = Object.keys(COUNTS);

function createCounts(schema: string): string[] {
  const sums = (rows: string, sign: string): string =>
    `SELECT ${Object.entries(COUNTS)
      .map(([name, sql]) => `${sign}coalesce(${sql}, 0) AS ${name}`)
      .join(", ")} FROM ${rows}`;
  const added = sums("new_rows", "");
  const removed = sums("old_rows", "-");
  const count = (event: string, tables: string, change: string): string[] => [
    `CREATE OR REPLACE FUNCTION ${schema}.count_${event}() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       INSERT INTO ${schema}.counts (writer, ${NAMES.join(", ")})
         SELECT pg_backend_pid(), ${NAMES.map((name) => `sum(${name})`).join(", ")}
         FROM (${change}) AS change
         ON CONFLICT (writer) DO UPDATE SET
           ${NAMES.map((name) => `${name} = counts.${name} + excluded.${name}`).join(", ")};
       RETURN NULL;
     END $$`,
    `CREATE OR REPLACE TRIGGER count_${event} AFTER ${event} ON ${schema}.passages
       REFERENCING ${tables} FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.count_${event}()`,
  ];
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.counts (
       writer integer PRIMARY KEY, ${NAMES.map((name) => `${name} bigint NOT NULL`).join(", ")})`,
    ...count("insert", "NEW TABLE AS new_rows", added),
    ...count("delete", "OLD TABLE AS old_rows", removed),
    ...count(
      "update",
      "NEW TABLE AS new_rows OLD TABLE AS old_rows",
      `${added} UNION ALL ${removed}`,
    ),
  ];
}
