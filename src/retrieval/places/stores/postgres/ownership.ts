/**
 * What reatt made in a schema: each table and function has a comment that says so. Only such ones
 * are replaced and dropped, so that a schema with tables of others stays as it is.
 */

import type { ClientBase } from "pg";
import { InputError } from "../../../../io/errors.ts";

const MARK = "made by reatt";

/** The relations and functions of a collection. */
const TABLES = ["passages", "records", "counts", "staged"];
const FUNCTIONS = ["count_insert", "count_delete", "count_update"];

/** Creates a schema with the mark, unless there is one. */
export const createSchema = (schema: string): string => `DO $$ BEGIN
     IF to_regnamespace('${schema}') IS NULL THEN
       CREATE SCHEMA ${schema};
       COMMENT ON SCHEMA ${schema} IS '${MARK}';
     END IF;
   END $$`;

/** Marks a table. */
export const markTable = (schema: string, name: string): string =>
  `COMMENT ON TABLE ${schema}.${name} IS '${MARK}'`;

/** Marks all that a collection has in its schema. */
export const markAll = (schema: string): readonly string[] => [
  ...TABLES.map((name) => markTable(schema, name)),
  ...FUNCTIONS.map((name) => `COMMENT ON FUNCTION ${schema}.${name}() IS '${MARK}'`),
];

/** $1 is the schema, $2 and $3 are the names of ours. What an extension has is not counted. */
const FOREIGN = `
  SELECT relname AS name FROM pg_class
    WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND NOT (relname = ANY($2) AND obj_description(oid, 'pg_class') IS NOT DISTINCT FROM '${MARK}')
      AND NOT EXISTS (SELECT FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('e', 'i', 'a'))
  UNION ALL
  SELECT proname FROM pg_proc
    WHERE pronamespace = to_regnamespace($1) AND proname = ANY($3)
      AND obj_description(oid, 'pg_proc') IS DISTINCT FROM '${MARK}'
  ORDER BY name LIMIT 1`;

/** @throws {InputError} if the schema has anything of others; there may be none */
export async function checkOwnSchema(
  client: Pick<ClientBase, "query">,
  schema: string,
  address: string,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(FOREIGN, [schema, TABLES, FUNCTIONS]);
  const [foreign] = rows;
  if (!foreign) return;
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: address,
    expected: "a schema that is empty, absent or has a collection of reatt alone",
    got: `one with ${foreign.name}, which reatt did not make`,
    remedy: "write another name at the end of the address",
  });
}

/** Drops a collection, and the schema if reatt made it and nothing else is in it. */
export async function dropCollection(
  client: Pick<ClientBase, "query">,
  schema: string,
  address: string,
): Promise<void> {
  await checkOwnSchema(client, schema, address);
  for (const name of TABLES) await client.query(`DROP TABLE IF EXISTS ${schema}.${name}`);
  for (const name of FUNCTIONS) await client.query(`DROP FUNCTION IF EXISTS ${schema}.${name}()`);
  const made = `SELECT obj_description(to_regnamespace($1), 'pg_namespace') = '${MARK}' AS own`;
  const { rows } = await client.query<{ own: boolean | null }>(made, [schema]);
  if (!rows[0]?.own) return;
  await client.query("SAVEPOINT empty");
  await client.query(`DROP SCHEMA ${schema}`).catch(async (error: unknown) => {
    if ((error as { code?: string }).code !== "2BP01") throw error; // others have something in it
    await client.query("ROLLBACK TO SAVEPOINT empty");
  });
}
