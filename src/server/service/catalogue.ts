/** What an index has, besides texts: its documents, and the fields and values of their metadata. */

import type { PassageFields } from "../../retrieval/index/format/packed-passage.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import type { MetadataItem } from "../../text/passage.ts";

/** Fields that are described. */
const MAX_FIELDS = 100;
/** Values of a field that are counted; a field with more has none, but its smallest and largest. */
const MAX_VALUES = 200;
/** Passages that stand for all, to make questions of. */
const SAMPLE = 64;
/** Values are as long in a list to choose from. */
const MAX_VALUE_CHARACTERS = 100;

/** `a#2` comes before `a#10`. */
export const { compare: compareNames } = new Intl.Collator("en", { numeric: true });

/** A field of the metadata of passages. */
export interface Field {
  readonly name: string;
  /** Of its values, and of the items of its lists. */
  readonly type: "text" | "number" | "true or false" | "mixed";
  /** The passages that have it. */
  readonly passages: number;
  /** Each value with the number of its passages, most frequent first; absent if there are many. */
  readonly values?: readonly { readonly value: MetadataItem; readonly passages: number }[];
  /** Of a field of numbers, or of texts in their order, such as dates. */
  readonly smallest?: string | number;
  readonly largest?: string | number;
}

export interface Catalogue {
  /** The ordinals of the passages of each document, by its path and by its id. */
  readonly documents: ReadonlyMap<string, readonly number[]>;
  /** The paths of documents, and the ids of those without a path. */
  readonly paths: readonly string[];
  /** Those that are not empty, in the order of names. */
  readonly sorted: readonly string[];
  /** How many documents each collection has. */
  readonly counts: ReadonlyMap<string, number>;
  readonly fields: readonly Field[];
  /** The ordinals of passages at equal distances. */
  readonly sample: readonly number[];
}

/** Reads the fields of all passages once. */
export async function readCatalogue(generation: IndexGeneration): Promise<Catalogue> {
  const documents = new Map<string, number[]>();
  const paths = new Map(
    generation.members.map(({ collection }) => [collection, new Set<string>()]),
  );
  const counts = new Map<string, FieldCount>();
  const sample = new Sample();
  await generation.visitFields((ordinal, fields) => {
    sample.add(ordinal);
    const { document, metadata = {} } = fields;
    const path = pathOf(fields);
    if (path !== undefined) paths.get(generation.ownerOf(ordinal).collection)!.add(path);
    for (const name of new Set([path, document])) if (name !== undefined) add(name, ordinal);
    for (const [name, value] of Object.entries(metadata)) {
      if (name.startsWith("_") || (!counts.has(name) && counts.size === MAX_FIELDS)) continue;
      const count = counts.get(name) ?? new FieldCount();
      counts.set(name, count);
      count.add(typeof value === "object" ? [...new Set(value)] : [value as MetadataItem]);
    }
  });
  function add(name: string, ordinal: number): void {
    const ordinals = documents.get(name);
    if (ordinals) ordinals.push(ordinal);
    else documents.set(name, [ordinal]);
  }
  const fields = [...counts].map(([name, count]) => count.describe(name));
  const all = [...new Set([...paths.values()].flatMap((own) => [...own]))];
  return {
    documents,
    paths: all,
    sorted: all.filter((path) => path !== "").sort(compareNames),
    counts: new Map([...paths].map(([collection, own]) => [collection, own.size])),
    fields,
    sample: sample.ordinals,
  };
}

/** The path of the file of a passage, or the id of its document. */
const pathOf = ({ document, metadata }: PassageFields): string | undefined =>
  typeof metadata?._source === "string" ? metadata._source : document;

/** Every n-th of a number of ordinals that is not known before: n doubles when there are many. */
class Sample {
  ordinals: number[] = [];
  #distance = 1;
  #seen = 0;

  add(ordinal: number): void {
    if (this.#seen++ % this.#distance === 0) this.ordinals.push(ordinal);
    if (this.ordinals.length < 2 * SAMPLE) return;
    this.ordinals = this.ordinals.filter((_, i) => i % 2 === 0);
    this.#distance *= 2;
  }
}

/** Counts the values of a field. */
class FieldCount {
  readonly #values = new Map<MetadataItem, number>();
  readonly #types = new Set<string>();
  #hasMany = false;
  #passages = 0;
  #smallest: MetadataItem | undefined;
  #largest: MetadataItem | undefined;

  /** @param items of one passage */
  add(items: readonly MetadataItem[]): void {
    this.#passages++;
    for (const item of items) {
      this.#types.add(typeof item);
      if (this.#smallest === undefined || item < this.#smallest) this.#smallest = item;
      if (this.#largest === undefined || item > this.#largest) this.#largest = item;
      if (this.#hasMany) continue;
      this.#values.set(item, (this.#values.get(item) ?? 0) + 1);
      const isLong = typeof item === "string" && item.length > MAX_VALUE_CHARACTERS;
      this.#hasMany = isLong || this.#values.size > MAX_VALUES;
    }
  }

  describe(name: string): Field {
    const [type, ...others] = this.#types;
    const shared = { name, passages: this.#passages };
    const values = this.#hasMany
      ? undefined
      : [...this.#values]
          .map(([value, passages]) => ({ value, passages }))
          .sort((a, b) => b.passages - a.passages || (a.value < b.value ? -1 : 1));
    const counted = values && { values };
    if (others.length > 0) return { ...shared, type: "mixed", ...counted };
    if (type === "boolean") return { ...shared, type: "true or false", ...counted };
    const [smallest, largest] = [this.#smallest, this.#largest] as [string, string];
    const isShort = Math.max(`${smallest}`.length, `${largest}`.length) <= MAX_VALUE_CHARACTERS;
    const range = isShort && { smallest, largest };
    return { ...shared, type: type === "number" ? "number" : "text", ...counted, ...range };
  }
}
