/**
 * The two collections in Weaviate that hold a collection of reatt:
 *
 *     Manuals           an object for each passage
 *     ManualsRecords    texts by name: properties, the parts of an import, the record of a folder
 *
 * Weaviate creates a collection once, whoever asks: the description of the first one says which
 * properties hold, and how wide the vectors are.
 *
 * Source: https://docs.weaviate.io/weaviate/config-refs/collections
 */

import { createHash } from "node:crypto";
import { z } from "zod";
import type { MetadataItem, MetadataValue, Passage } from "../../../../text/passage.ts";
import { composed, timeSpan } from "../../../where/values.ts";
import type { WhereValue } from "../../../where/where.ts";
import type { NewPassage } from "../store.ts";
import type { WeaviateAddress } from "./address.ts";
import type { WeaviateClass } from "./cluster.ts";

/** The name of the vector of a passage. */
export const VECTOR = "mean";

/** A passage as an object has it. */
export interface StoredObject {
  readonly passage: string;
  readonly title: string;
  readonly text: string;
  readonly document?: string;
  /** JSON. */
  readonly metadata: string;
  readonly digest: string;
  /** Base64; absent without keys, because Weaviate takes no empty blob. */
  readonly codes?: string;
  readonly checksum: number;
  readonly tokens: number;
  readonly cutTokens: number;
  /** 1 if it has cut tokens. */
  readonly cut: number;
  readonly termCount: number;
  /** The terms with spaces between them. */
  readonly terms: string;
  /** Bytes of codes, texts and vector. */
  readonly bytes: number;
  /** A number below 2^48 from the id: pages of a scan are ranges of it. */
  readonly place: number;
  /** What conditions on equality compare (`fieldEntry`). */
  readonly fields?: readonly string[];
  /** What conditions on order compare (`orderedField`). */
  readonly [ordered: string]: string | number | readonly string[] | undefined;
}

/** What is summed over all passages. */
export const SUMS = ["tokens", "termCount", "cut", "cutTokens", "bytes"] as const;

const describedSchema = z.strictObject({ reatt: z.string(), dimension: z.int().gte(1) });

/** What the description of a collection says. */
export type Described = z.infer<typeof describedSchema>;

/** Undefined for a collection of something else. */
export function parseDescription(text: string | undefined): Described | undefined {
  try {
    return describedSchema.safeParse(JSON.parse(text ?? "")).data;
  } catch {
    return undefined;
  }
}

const plain = { indexFilterable: false, indexSearchable: false, indexRangeFilters: false };
const text = { dataType: ["text"], tokenization: "field" as const, ...plain };
const summed = { dataType: ["int"], ...plain, indexFilterable: true };

/** What replicas do with an object that one of them has deleted: what came last holds. */
const replication = (replicas: number) => ({
  factor: replicas,
  asyncEnabled: replicas > 1,
  deletionStrategy: "TimeBasedResolution" as const,
});

export function passagesClass(
  name: string,
  described: Described,
  { shards, replicas }: WeaviateAddress,
): WeaviateClass {
  return {
    class: name,
    description: JSON.stringify(described),
    vectorConfig: {
      [VECTOR]: {
        vectorizer: { none: {} },
        vectorIndexType: "hnsw",
        vectorIndexConfig: { distance: "dot", rq: { enabled: true, bits: 8 } },
      },
    },
    properties: [
      { name: "passage", ...text },
      { name: "title", ...text },
      { name: "text", ...text },
      { name: "document", ...text },
      { name: "metadata", ...text },
      { name: "digest", ...text },
      { name: "codes", dataType: ["blob"] },
      { name: "checksum", dataType: ["int"], ...plain },
      ...SUMS.map((name) => ({ name, ...summed })),
      {
        name: "terms",
        ...text,
        tokenization: "whitespace",
        indexSearchable: true,
        indexFilterable: true,
      },
      { name: "place", dataType: ["int"], ...plain, indexRangeFilters: true },
      { name: "fields", ...text, dataType: ["text[]"], indexFilterable: true },
    ],
    invertedIndexConfig: { bm25: { k1: 0.9, b: 0.6 }, stopwords: { preset: "none" } },
    ...(shards !== undefined && { shardingConfig: { desiredCount: shards } }),
    replicationConfig: replication(replicas),
  };
}

/** What the description of a collection of records says. */
export const RECORDS_MARK = "records of a collection of reatt";

/** A record: a name and its contents. */
export const recordsClass = (name: string, { replicas }: WeaviateAddress): WeaviateClass => ({
  class: name,
  description: RECORDS_MARK,
  vectorizer: "none",
  vectorIndexConfig: { skip: true },
  properties: [
    { name: "name", ...text },
    { name: "contents", ...text },
  ],
  shardingConfig: { desiredCount: 1 },
  replicationConfig: replication(replicas),
});

/** Longer values of a field are compared by their digest, or by their beginning. */
const MAX_ENTRY = 200;

/** A field with a value in NFC, or only its name, as `fields` has it. */
export function fieldEntry(name: string, value?: WhereValue): string {
  const entry = JSON.stringify(value === undefined ? [name] : [name, composed(value)]);
  return entry.length <= MAX_ENTRY ? entry : createHash("sha256").update(entry).digest("base64");
}

/** How values are ordered: a date is the number of its first microsecond, too. */
export type OrderedType = "number" | "text" | "date";

/** The property that orders passages by the greatest value of a field, or the least of a list. */
export function orderedField(
  name: string,
  type: OrderedType,
  of: "greatest" | "least" = "greatest",
): string {
  const kind = of === "least" ? `least_${type}` : type;
  if (/^[A-Za-z][A-Za-z0-9]{0,99}$/.test(name)) return `${kind}_${name}`;
  return `${kind}__${createHash("sha256").update(name).digest("hex")}`;
}

export const isOrdered = (property: string): boolean =>
  /^(?:least_)?(?:number|text|date)_/.test(property);

export const orderedProperty = (name: string) =>
  /^(?:least_)?text_/.test(name)
    ? { name, ...text, dataType: "text" as const, indexFilterable: true }
    : { name, ...plain, dataType: "number" as const, indexRangeFilters: true };

/** UTF-16 code units of a text that decide its order here. */
const MAX_ORDERED = 64;

/** A text whose bytes have the order of the UTF-16 code units of the beginning of `value`. */
export const orderedText = (value: string): string =>
  Buffer.from(composed(value).slice(0, MAX_ORDERED), "utf16le").swap16().toString("hex");

/** The fields that conditions compare: `document` is that of the passage. */
const fieldsOf = ({ metadata, document }: Passage): (readonly [name: string, MetadataValue])[] => [
  ...Object.entries(metadata ?? {}).filter(([name]) => name !== "document"),
  ...(document === undefined ? [] : ([["document", document]] as const)),
];

export function objectOf(row: NewPassage): StoredObject {
  const { passage, codes, vector } = row;
  const { id, title, text, document, metadata = {} } = passage;
  const fields = fieldsOf(passage);
  return {
    passage: id,
    title,
    text,
    ...(document !== undefined && { document }),
    metadata: JSON.stringify(metadata),
    digest: row.digest,
    ...(codes.length > 0 && {
      codes: Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString("base64"),
    }),
    checksum: row.checksum,
    tokens: row.tokens,
    cutTokens: row.cutTokens,
    cut: Number(row.cutTokens > 0),
    termCount: row.terms.length,
    terms: row.terms.join(" "),
    bytes: codes.length + Buffer.byteLength(title + text) + vector.byteLength,
    place: placeOf(id),
    ...(fields.length > 0 && {
      fields: fields.flatMap(([name, value]) => [
        fieldEntry(name),
        ...[value].flat().map((one) => fieldEntry(name, one)),
      ]),
    }),
    ...Object.fromEntries(fields.flatMap(orderedEntries)),
  };
}

/** What the passages are ordered by: numbers, texts and dates of a field. */
function orderedEntries([name, value]: readonly [string, MetadataValue]): [
  string,
  string | number,
][] {
  const entries: [string, string | number][] = [];
  const ordered = [value].flat().flatMap(orderedValues);
  for (const type of ["number", "text", "date"] as const) {
    const [first, ...others] = ordered.filter((one) => one.type === type).map(({ value }) => value);
    if (first === undefined) continue;
    const greatest = others.reduce((most, one) => (one > most ? one : most), first);
    const least = others.reduce((most, one) => (one < most ? one : most), first);
    entries.push([orderedField(name, type), greatest]);
    if (least !== greatest) entries.push([orderedField(name, type, "least"), least]);
  }
  return entries;
}

function orderedValues(
  value: MetadataItem,
): { readonly type: OrderedType; readonly value: string | number }[] {
  if (typeof value === "number") return [{ type: "number", value }];
  if (typeof value === "boolean") return [];
  const time = timeSpan(value);
  return [
    { type: "text", value: orderedText(value) },
    ...(time ? [{ type: "date" as const, value: time.start }] : []),
  ];
}

/** The ranges of `place` end here. */
export const PLACES: number = 2 ** 48;

const placeOf = (id: string): number => createHash("sha256").update(id).digest().readUIntBE(0, 6);
