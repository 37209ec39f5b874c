/** Documents and passages by their names, against the fields of a generation in memory. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { IndexGeneration } from "../../../src/retrieval/search/generation.ts";
import { readCatalogue } from "../../../src/server/service/catalogue.ts";
import { getDocument, getDocuments } from "../../../src/server/service/documents.ts";
import type { Metadata, Passage } from "../../../src/text/passage.ts";

const { signal } = new AbortController();
/** The ordinals of passages that were read. */
const read: number[] = [];

function generationOf(all: readonly Passage[]): IndexGeneration {
  return {
    members: [{ collection: "facts" }],
    ownerOf: () => ({ collection: "facts" }),
    linkOf: () => undefined,
    async visitFields(visit: (ordinal: number, fields: Passage) => void) {
      for (const [ordinal, passage] of all.entries()) visit(ordinal, passage);
    },
    async find(id: string) {
      const ordinal = all.findIndex((passage) => passage.id === id);
      return ordinal === -1 ? undefined : ordinal;
    },
    async passages(ordinals: readonly number[]) {
      read.push(...ordinals);
      return ordinals.map((ordinal) => all[ordinal]!);
    },
  } as unknown as IndexGeneration;
}

const passage = (id: string, text: string, metadata: Metadata = {}): Passage => {
  const [document] = id.split("#") as [string];
  return { id, title: "", text, document, metadata: { _source: document, ...metadata } };
};

test("a very large document is read until the bytes are used up, and no further", async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) =>
    passage(`big.csv#${i + 1}`, "x".repeat(100)),
  );
  const generation = generationOf(rows);
  const catalogue = await readCatalogue(generation);
  read.length = 0;
  const request = { path: "big.csv", maxBytes: 1_000 };
  const found = await getDocument(generation, catalogue, request, signal);
  assert.equal([found.passages.length, found.omitted], [9, 19_991]);
  assert.ok(read.length < 10_000, `${read.length}`);
});

test("patterns that take long let others use the process, and end with their client", async () => {
  const paths = Array.from(
    { length: 3_000 },
    (_, i) => `${"a".repeat(60)}/${"a".repeat(60)}/${i}.md`,
  );
  const generation = generationOf(paths.map((path) => passage(`${path}#1`, "Text.")));
  const catalogue = await readCatalogue(generation);
  const patterns = Array.from({ length: 20 }, (_, i) => `/${"*a".repeat(90)}/${i}b`);
  const client = new AbortController();
  setImmediate(() => client.abort(new Error("gone")));
  const asked = getDocuments(generation, catalogue, { patterns, maxBytes: 100 }, client.signal);
  assert.is(
    await asked.then(
      () => "answered",
      (error: Error) => error.message,
    ),
    "gone",
  );
});

test("a name without its folder or ending suggests the document", async () => {
  const paths = ["lts.md", "guide/Install.rst", "guide/api/install.html", "lists.md"];
  const generation = generationOf(paths.map((path) => passage(`${path}#1`, "Text.")));
  const catalogue = await readCatalogue(generation);
  const hint = async (path: string): Promise<string | undefined> => {
    const asked = getDocument(generation, catalogue, { path, maxBytes: 100 }, signal);
    const message = await asked.then(
      () => "",
      (error: Error) => error.message,
    );
    return /; did you mean (.*)\?$/.exec(message)?.[1];
  };
  for (const [given, meant] of [
    ["lts", "lts.md"],
    ["LTS", "lts.md"],
    ["docs", undefined],
    ["lts.html", "lts.md"],
    ["install", "guide/Install.rst"],
    ["install.md", "guide/Install.rst"],
    ["api/install", "guide/api/install.html"],
    ["all", undefined],
    ["guide/instal.rst", "guide/Install.rst"],
  ] as const)
    assert.is(await hint(given), meant, given);
});

test("bytes count over all documents, whose paths are in the order of people", async () => {
  const all = ["n10.md#1", "n2.md#2", "n2.md#1", "z/n1.md#1"].map((id) =>
    passage(id, "0123456789"),
  );
  const generation = generationOf(all);
  const catalogue = await readCatalogue(generation);
  const get = async (patterns: string[], maxBytes: number) => {
    const { documents, omitted } = await getDocuments(
      generation,
      catalogue,
      { patterns, maxBytes },
      signal,
    );
    return [
      ...documents.map(({ passages, omitted }) => [...passages.map(({ id }) => id), omitted]),
      omitted,
    ];
  };
  const first = ["n2.md#1", "n2.md#2", 0];
  assert.equal(await get(["n*.md"], 1_000), [first, ["n10.md#1", 0], ["z/n1.md#1", 0], []]);
  assert.equal(await get(["/n*.md"], 40), [first, ["n10.md"]]);
  assert.equal(await get(["/n*.md"], 20), [["n2.md#1", 1], ["n10.md"]]);
  assert.equal(await get(["*.md"], 1), [["n2.md", "n10.md", "z/n1.md"]]);
});

test("a name is found with composed letters and with others", async () => {
  const names = ["Zürich.md", "Genève.md"].map((name, i) => name.normalize(i ? "NFC" : "NFD"));
  const generation = generationOf(names.map((name) => passage(`${name}#1`, name)));
  const catalogue = await readCatalogue(generation);
  for (const [i, name] of names.entries())
    for (const form of ["NFC", "NFD"] as const) {
      for (const path of [name, `${name}#1`]) {
        const request = { path: path.normalize(form), maxBytes: 1_000 };
        const { passages } = await getDocument(generation, catalogue, request, signal);
        assert.equal(
          passages.map(({ text }) => text),
          [names[i]],
        );
      }
      const request = { patterns: [name.normalize(form)], maxBytes: 1_000 };
      const { documents } = await getDocuments(generation, catalogue, request, signal);
      assert.equal(
        documents.map(({ document }) => document),
        [names[i]],
      );
    }
});

test("a field with many or long values has a range, or only its type", async () => {
  const all = Array.from({ length: 300 }, (_, i) =>
    passage(`a#${i}`, "", {
      number: i,
      text: `${String.fromCodePoint(97 + (i % 26))}${i}`,
      date: `2024-01-${String((i % 28) + 1).padStart(2, "0")}`,
      long: "x".repeat(i),
      list: [i % 2 === 0 ? "even" : "odd", "all"],
      mixed: i % 2 === 0 ? i % 4 : "two",
      flag: i % 3 === 0,
    }),
  );
  const { fields } = await readCatalogue(generationOf(all));
  const named = Object.fromEntries(fields.map(({ name, ...field }) => [name, field]));
  assert.equal(named.number, { type: "number", passages: 300, smallest: 0, largest: 299 });
  assert.is(named.text!.values, undefined);
  assert.equal([named.date!.values!.length, named.date!.smallest], [28, "2024-01-01"]);
  assert.equal(named.long, { type: "text", passages: 300 });
  assert.equal(named.list!.values![0], { value: "all", passages: 300 });
  assert.equal(named.mixed!.type, "mixed");
  assert.equal(named.flag!.values, [
    { value: false, passages: 200 },
    { value: true, passages: 100 },
  ]);
});

test.run();
