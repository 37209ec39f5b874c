/** Passages as rows of the table, both ways. */

import type { Passage } from "../../../../text/passage.ts";
import type { NewPassage, PassageRow, StoredPassage } from "../store.ts";
import { storedMetadata } from "../stored-metadata.ts";
import { termsText } from "./words.ts";

/** A row as the client returns it. */
export interface Row extends Omit<PassageRow, "passage" | "tokens" | "cutTokens" | "checksum"> {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly document: string | null;
  /** Whoever changes rows can leave any JSON here. */
  readonly metadata: unknown;
  readonly checksum: string;
  readonly tokens: number;
  readonly cut_tokens: number;
}

/** The columns of the fields of a passage. */
export const PASSAGE = "id, title, text, document, metadata";

/** PostgreSQL reads values of halfvec and tsvector as text. */
export const vectorText = (vector: Float32Array): string => `[${vector.join(",")}]`;

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

/** Adds rows of arrays (`putValues`) to a table of passages. */
export const putSql = (passages: string): string => {
  const given = Object.values(COLUMNS).map((type, i) => `$${i + 1}::${type}[]`);
  return insertSql(passages, `SELECT * FROM unnest(${given.join(", ")})`);
};

/** Adds those rows of another table of passages that have the ids $1 and the digests $2. */
export const copySql = (passages: string, from: string): string =>
  insertSql(
    passages,
    `SELECT ${Object.keys(COLUMNS).join(", ")}
    FROM ${from} JOIN unnest($1::text[], $2::text[]) AS wanted (id, digest) USING (id, digest)`,
  );

function insertSql(passages: string, rows: string): string {
  const names = Object.keys(COLUMNS);
  const updates = names.slice(1).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${passages} (${names.join(", ")}) ${rows}
    ON CONFLICT (id) DO UPDATE SET ${updates.join(", ")}`;
}

/** An array for each column, in the order of `COLUMNS`. */
export const putValues = (rows: readonly NewPassage[]): unknown[] => {
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

export const storedPassage = ({ codes, ...row }: Row): StoredPassage => ({
  passage: passageOf(row),
  codes,
});

export function passageOf({ id, title, text, document, metadata }: Omit<Row, "codes">): Passage {
  return {
    id,
    title,
    text,
    ...(document !== null && { document }),
    ...storedMetadata(metadata),
  };
}

export const passageRow = (row: Row): PassageRow => ({
  ...storedPassage(row),
  digest: row.digest,
  checksum: Number(row.checksum),
  tokens: row.tokens,
  cutTokens: row.cut_tokens,
});
