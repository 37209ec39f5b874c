/** `ReAtt.sync`: an index that follows a folder, and survives being killed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { defineReader } from "../../src/documents/define-reader.ts";
import { readDocuments } from "../../src/documents/read-documents.ts";
import { ReAtt } from "../../src/reatt.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import type { SyncProgress } from "../../src/sync/sync.ts";
import type { Passage } from "../../src/text/passage.ts";
import { epub, openDocument, pptx, shape, slideText, xlsx } from "../documents/office-files.ts";
import { docx, pdfOf, wordParagraph } from "../documents/support.ts";
import { temporary } from "../retrieval/support.ts";
import { moduleArguments } from "../support/node-program.ts";
import { temporaryFolder, writeLexicalModel } from "../support/training.ts";

const modelParent = temporaryFolder();
const modelFolder = join(modelParent.path, "model");
await writeLexicalModel(modelFolder, { retrievalLayer: 0 });
const model = await ReAtt.load(modelFolder, { threads: 1 });
test.after(async () => {
  await model.close();
  await modelParent[Symbol.asyncDispose]();
});

interface Workplace extends AsyncDisposable {
  readonly docs: string;
  readonly directory: string;
  write(name: string, text: string): Promise<void>;
}

async function workplace(): Promise<Workplace> {
  const folder = await temporary();
  const docs = join(folder.path, "docs");
  await mkdir(docs);
  return {
    docs,
    directory: join(folder.path, "index"),
    write: (name, text) => writeFile(join(docs, name), text),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const sync = async ({ docs, directory }: Workplace) => {
  const { changes, unchanged } = await model.sync(docs, { directory });
  return [...changes.map(({ file, change }) => `${change} ${file}`).sort(), unchanged];
};

const byId = (a: Passage, b: Passage) => (a.id < b.id ? -1 : 1);

/** The index holds the passages of the folder and no others. */
async function checkEqual({ docs, directory }: Workplace, others: readonly Passage[] = []) {
  const expected: Passage[] = [...others];
  const options = { tokenizer: model.tokenizer, onSkip: () => {} };
  for await (const passage of readDocuments(docs, options)) expected.push(passage);
  await using index = await model.openIndex(directory);
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  assert.equal(found.sort(byId), expected.sort(byId));
}

const long = (sentences: number, word: string) =>
  `It is about ${word} here today. `.repeat(sentences);

test("added, changed, touched and removed files", async () => {
  await using place = await workplace();
  await place.write("a.txt", long(60, "ants"));
  await place.write("b.md", "# Bees\n\nThey fly.");
  await place.write("c.txt", "cats");
  assert.equal(await sync(place), ["added a.txt", "added b.md", "added c.txt", 0]);
  await checkEqual(place);
  assert.equal(await sync(place), [3]);
  await place.write("a.txt", long(20, "ants"));
  await rm(join(place.docs, "c.txt"));
  await place.write("d.txt", "dogs");
  await utimes(join(place.docs, "b.md"), 1, 1);
  assert.equal(await sync(place), ["added d.txt", "deleted c.txt", "replaced a.txt", 1]);
  await checkEqual(place);
  await place.write("d.txt", "");
  assert.equal(await sync(place), ["replaced d.txt", 2]);
  await checkEqual(place);
  await place.write("e.txt", "\n");
  const { changes, skipped } = await model.sync(place.docs, { directory: place.directory });
  assert.equal([changes.length, skipped.map(({ file }) => file)], [0, ["e.txt"]]);
  assert.equal(await sync(place), [4]);
});

test("an index in the folder of documents is not read, also while it is built", async () => {
  await using place = await workplace();
  await place.write("a.txt", "ants");
  const directory = join(place.docs, "index");
  for (const unchanged of [0, 1]) {
    const result = await model.sync(place.docs, { directory });
    assert.equal([result.skipped, result.unchanged], [[], unchanged]);
  }
});

test("passages of other origin stay; those that another program deleted come back", async () => {
  await using place = await workplace();
  await place.write("a.txt", "ants");
  await place.write("b.txt", "bees");
  await sync(place);
  const other = { id: "other", title: "", text: "not of the folder" };
  await using _ = await model.add([other], { directory: place.directory });
  await deletePassages(["a.txt#1"], { directory: place.directory });
  assert.equal(await sync(place), ["replaced a.txt", 1]);
  await checkEqual(place, [other]);
});

test("other lengths split all files again; another folder is rejected", async () => {
  await using place = await workplace();
  await place.write("a.txt", long(60, "ants"));
  await sync(place);
  const { docs, directory } = place;
  const { changes } = await model.sync(docs, { directory, passageWords: 40 });
  assert.equal(changes, [{ file: "a.txt", change: "replaced", passages: 10 }]);
  await mkdir(join(docs, "sub"));
  await writeFile(join(docs, "sub", "x.txt"), "x");
  const error = await model.sync(join(docs, "sub"), { directory }).catch(String);
  assert.match(String(error), /expected the folder .*docs, got .*sub; use another index/);
});

test("a file that is damaged keeps its passages until it can be read again", async () => {
  await using place = await workplace();
  await place.write("a.json", '{"text": "ants"}');
  await place.write("b.txt", "bees");
  await sync(place);
  await place.write("a.json", '{"text": ');
  const { changes, skipped } = await model.sync(place.docs, { directory: place.directory });
  assert.equal([changes.length, skipped.map(({ file }) => file)], [0, ["a.json"]]);
  await using index = await model.openIndex(place.directory);
  assert.is(index.passageCount, 2);
  await place.write("a.json", '{"text": "antelopes"}');
  assert.equal(await sync(place), ["replaced a.json", 1]);
  await checkEqual(place);
});

test("the record names a file that is read in part, until it is whole", async () => {
  await using place = await workplace();
  const failed = async (): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(place.directory, "sync", "record.json"), "utf8")).failed;
  const line = '{"id": "a", "text": "ants"}\n';
  await place.write("a.jsonl", `${line}no json\n{"id": "b"\n`);
  for (const changes of [["added a.jsonl", 0], [1]]) {
    assert.equal(await sync(place), changes);
    assert.match((await failed())["a.jsonl"]!, /:2: expected one JSON object, .* \(and 1 more\)$/);
  }
  await place.write("a.jsonl", line);
  await sync(place);
  assert.equal(await failed(), {});
});

test("a synchronisation that is killed at any moment converges when it runs again", async () => {
  await using place = await workplace();
  for (const name of ["a", "b", "c"]) await place.write(`${name}.txt`, long(30, name));
  await sync(place);
  let kills = 0;
  for (let round = 0; round < 4; round++) {
    for (const name of ["a", "b", "c", "d"])
      await place.write(
        `${name}.txt`,
        long(5 + ((round * 37 + name.charCodeAt(0)) % 90), `${name}${round}`),
      );
    if (round % 2 === 1) await rm(join(place.docs, "d.txt"));
    const program = moduleArguments("test/sync/synchronise.ts");
    const args = [...program, modelFolder, place.docs, place.directory];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    let steps = 0;
    for await (const _ of createInterface(child.stdout)) if (++steps > 2 * round) break;
    if (child.exitCode === null) kills += Number(child.kill("SIGKILL"));
    await exited;
    // another change before the next run: the killed one may have written any of its passages
    await place.write("a.txt", long(3 + round, `again${round}`));
    await sync(place);
    await checkEqual(place);
  }
  assert.ok(kills > 0, "no process was killed");
});

const paragraphs = [
  "The lion lives in Africa.",
  "The tiger lives in Asia.",
  "The cat lives at home.",
];
const three = (second: string): readonly string[] => [paragraphs[0]!, second, paragraphs[2]!];
const sections = (mark: (title: string, text: string) => string) => (second: string) =>
  three(second)
    .map((text, i) => mark(`Part ${i}`, text))
    .join("");

/** Files of three passages, the second of which is given. */
const FORMATS: Readonly<Record<string, (second: string) => string | Buffer>> = {
  "a.md": sections((title, text) => `## ${title}\n\n${text}\n\n`),
  "a.html": sections((title, text) => `<h2>${title}</h2><p>${text}</p>\n`),
  "a.rst": sections((title, text) => `${title}\n------\n\n${text}\n\n`),
  "a.csv": (second) =>
    `id,text\n${three(second)
      .map((text, i) => `${i},${text}\n`)
      .join("")}`,
  "a.json": (second) => JSON.stringify(three(second).map((text, id) => ({ id, text }))),
  "a.jsonl": sections((id, text) => `${JSON.stringify({ id, text })}\n`),
  "a.py": (second) => `def a():\n    "x"\n\ndef b():\n    "${second}"\n\ndef c():\n    "y"\n`,
  "a.docx": (second) =>
    docx(sections((title, text) => wordParagraph(title, "Heading2") + wordParagraph(text))(second)),
  "a.pdf": (second) =>
    pdfOf(
      three(second).map((text) => `BT /F1 12 Tf 72 400 Td (${text}) Tj ET`),
      { size: [800, 450] },
    ),
  "a.ipynb": (second) =>
    JSON.stringify({
      cells: three(second).map((text, i) => ({
        cell_type: "markdown",
        source: `## Part ${i}\n\n${text}`,
      })),
    }),
  "a.pptx": (second) =>
    pptx(
      ...three(second).map(
        (text, i) => shape("title", slideText(`Part ${i}`)) + shape("body", slideText(text)),
      ),
    ),
  "a.xlsx": (second) =>
    xlsx({
      S: `<sheetData>${["Text", ...three(second)]
        .map((text, i) => `<row r="${i + 1}"><c r="A${i + 1}" t="str"><v>${text}</v></c></row>`)
        .join("")}</sheetData>`,
    }),
  "a.odt": (second) =>
    openDocument(
      "text",
      sections((title, text) => `<text:h>${title}</text:h><text:p>${text}</text:p>`)(second),
    ),
  "a.ods": (second) =>
    openDocument(
      "spreadsheet",
      `<table:table table:name="S">${["Text", ...three(second)]
        .map(
          (text) =>
            `<table:table-row><table:table-cell><text:p>${text}</text:p></table:table-cell></table:table-row>`,
        )
        .join("")}</table:table>`,
    ),
  "a.odp": (second) =>
    openDocument(
      "presentation",
      three(second)
        .map(
          (text) =>
            `<draw:page><draw:frame presentation:class="outline"><draw:text-box><text:p>${text}</text:p></draw:text-box></draw:frame></draw:page>`,
        )
        .join(""),
    ),
  "a.epub": (second) =>
    epub(
      "Animals",
      Object.fromEntries(three(second).map((text, i) => [`${i}.xhtml`, `<p>${text}</p>`])),
    ),
  "a.eml": (second) =>
    `Subject: Animals\nContent-Type: text/html\n\n${sections((title, text) => `<h2>${title}</h2><p>${text}</p>\n`)(second)}`,
};

/** Synchronises, and counts the passages that are encoded. */
async function encodedBySync({ docs, directory }: Workplace) {
  let encoded = 0;
  const { changes } = await model.sync(docs, {
    directory,
    onProgress: (progress) => {
      if (progress.event !== "reading") encoded = Math.max(encoded, progress.total);
    },
  });
  return { changes, encoded };
}

test("of a file with one changed paragraph, one passage is encoded again, in every format", async () => {
  await using place = await workplace();
  const write = async (second: string) => {
    for (const [name, make] of Object.entries(FORMATS))
      await writeFile(join(place.docs, name), make(second));
  };
  await write("The tiger lives in Asia.");
  await sync(place);
  await write("The tiger lives in Java.");
  const { changes, encoded } = await encodedBySync(place);
  assert.is(changes.length, Object.keys(FORMATS).length);
  assert.ok(changes.every(({ passages }) => passages === 3));
  assert.is(encoded, Object.keys(FORMATS).length);
  await checkEqual(place);
});

test("other lines, ids or names of files: the same texts are not encoded again", async () => {
  await using place = await workplace();
  const text = FORMATS["a.md"]!("The tiger lives in Asia.").toString();
  await place.write("a.md", text);
  await place.write("b.txt", "The dog lives at home.");
  await sync(place);
  await place.write("a.md", `---\nyear: 2024\n---\n## New\n\nThe bear lives in Canada.\n\n${text}`);
  assert.is((await encodedBySync(place)).encoded, 1);
  await checkEqual(place);
  await rename(join(place.docs, "b.txt"), join(place.docs, "c.txt"));
  await place.write("a.md", text);
  await place.write("b.md", "## Part 1\n\nThe tiger lives in Asia.");
  const { changes, encoded } = await encodedBySync(place);
  assert.is(encoded, 2); // of b.txt and b.md, whose titles are new
  assert.is(changes.length, 4);
  await checkEqual(place);
  const question = "Where does the tiger live?";
  await using index = await model.openIndex(place.directory);
  const hits = await model.retrieve(question, index, { topK: 2 });
  assert.equal(hits.map(({ id }) => id).sort(), ["a.md#2", "b.md#1"]);
});

test("openOrIndex: the index has the passages of the source, and only new texts are encoded", async () => {
  await using place = await workplace();
  const { docs, directory } = place;
  const lion = { id: "lion", title: "", text: "The lion lives in Africa." };
  const cat = { id: "cat", title: "", text: "Cats sleep at home." };
  const contents = async (passages: Iterable<Passage>) => {
    let encoded = 0;
    const onProgress = (progress: SyncProgress) => {
      if (progress.event !== "reading") encoded = progress.total;
    };
    const options = { directory, delete: true, onProgress };
    await using index = await model.openOrIndex(passages, options);
    const ids: string[] = [];
    for await (const [, { id }] of index.entries()) ids.push(id);
    return [encoded, ...ids.sort()];
  };
  assert.equal(await contents([lion, cat]), [2, "cat", "lion"]);
  assert.equal(await contents([lion, cat]), [0, "cat", "lion"]);
  assert.equal(await contents([{ ...lion, id: "tiger" }, cat]), [0, "cat", "tiger"]);
  assert.equal(await contents([{ ...lion, text: "The lion sleeps." }]), [1, "lion"]);
  assert.match(String(await contents([lion, lion]).catch(String)), /lion/);
  assert.match(String(await contents([]).catch(String)), /expected/);
  assert.equal(await contents([{ ...lion, text: "The lion sleeps." }]), [0, "lion"]);

  await place.write("a.md", "# Bees\n\nThey fly.");
  for (const source of [docs, docs, join(docs, "a.md")]) {
    const own = join(docs, source === docs ? "folder" : "file");
    await using index = await model.openOrIndex(source, { directory: own });
    assert.is(index.passageCount, 1);
  }
  const followed = { directory: join(docs, "folder") };
  assert.match(
    String(await model.openOrIndex([lion], followed).catch(String)),
    /one that follows the folder/,
  );
});

test("a folder that is empty, or has less than half of its texts, deletes nothing", async () => {
  await using place = await workplace();
  const { docs, directory } = place;
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await place.write(`${name}.txt`, `It is about ${name}.`);
  await sync(place);
  const refused = (how: Promise<unknown>) =>
    how.then(
      () => "",
      ({ message }: Error) => message,
    );
  const count = async () => {
    await using index = await model.openIndex(directory);
    return index.passageCount;
  };
  for (const [gone, rest] of [
    [names, "none"],
    [names.slice(0, 3), "2"],
  ] as const) {
    for (const name of gone) await rename(join(docs, `${name}.txt`), join(docs, "..", name));
    const expected = `${directory}: expected at least half of its 5 passages in ${docs}, got ${rest};`;
    for (const call of [
      () => model.sync(docs, { directory }),
      () => model.openOrIndex(docs, { directory }),
    ]) {
      const message = await refused(call());
      assert.ok(message.startsWith(expected), message);
      assert.match(message, /delete the others with --delete \(in code, delete: true\)$/);
    }
    assert.is(await count(), 5);
    for (const name of gone) await rename(join(docs, "..", name), join(docs, `${name}.txt`));
    assert.equal(await sync(place), [5]);
  }
  for (const name of names) await place.write(`${name}.txt`, ""); // an unclean end of the machine
  assert.match(await refused(model.sync(docs, { directory })), /got none;/);
  assert.is(await count(), 5);

  for (const name of names) await rm(join(docs, `${name}.txt`));
  for (const name of names) await place.write(`${name}${name}.txt`, `It is about ${name}.`);
  assert.is((await sync(place)).length, 11); // other names, the same texts
  await place.write("f.txt", "It is about f.");
  for (const name of names) await rm(join(docs, `${name}${name}.txt`));
  const { changes } = await model.sync(docs, { directory, delete: true });
  assert.is(changes.length, 6);
  await checkEqual(place);
});

test("a list of passages without most of the index deletes nothing", async () => {
  await using place = await workplace();
  const { directory } = place;
  const passages = ["a", "b", "c"].map((id) => ({ id, title: "", text: `It is about ${id}.` }));
  await (await model.openOrIndex(passages, { directory }))[Symbol.asyncDispose]();
  const message = String(
    await model.openOrIndex(passages.slice(0, 1), { directory }).catch(String),
  );
  assert.match(message, /expected at least half of its 3 passages in the passages that were given/);
  await using index = await model.openIndex(directory);
  assert.is(index.passageCount, 3);
});

test("what looks like an index by its names is read; an index in its own folder is refused", async () => {
  await using place = await workplace();
  const { docs } = place;
  const site = join(docs, "site");
  await mkdir(join(site, "segments"), { recursive: true });
  await writeFile(join(site, "index.json"), '{"text": "The page of the site."}');
  await writeFile(join(site, "segments", "one.txt"), "The first segment.");
  await place.write("a.txt", "ants");
  const found = ["added a.txt", "added site/index.json", "added site/segments/one.txt"];
  assert.equal(await sync(place), [...found, 0]);
  const own = String(await model.sync(docs, { directory: docs }).catch(String));
  assert.match(own, /expected a folder for the index alone, got the folder of the documents;/);
});

test("behind the damage of a file its passages stay, and it is named until it is whole", async () => {
  await using place = await workplace();
  const { docs, directory } = place;
  const line = (_: unknown, i: number) =>
    JSON.stringify({ id: `${"p".repeat(600)}${i}`, text: "x" });
  const lines = Array.from({ length: 200 }, line).join("\n");
  const whole = gzipSync(lines, { level: 0 }); // so that half of it has half of the lines
  const half = whole.subarray(0, whole.length / 2);
  const table = "id,text\n1,The lion.\n2,The cat.\n3,The dog.\n";
  const files = {
    "a.jsonl.gz": [gzipSync('{"id":"p","text":"x"}'), whole, half],
    "b.csv": [table, table, table.replace("The cat.", "A cat. ".repeat(200_000))], // a row too long
  } as const;
  const write = async (version: 1 | 2) => {
    for (const [name, versions] of Object.entries(files))
      await writeFile(join(docs, name), versions[version]);
  };
  const ids = async () => {
    await using index = await model.openIndex(directory);
    const found: string[] = [];
    for await (const [, { id }] of index.entries()) found.push(id);
    return found.sort();
  };
  await write(1);
  await sync(place);
  const before = await ids();
  await write(2);
  for (let time = 0; time < 2; time++) {
    const { changes, skipped } = await model.sync(docs, { directory });
    const named = skipped.map(({ file }) => file).sort();
    assert.equal([changes, named], [[], Object.keys(files)]);
    assert.equal(await ids(), before);
  }
  await write(1);
  assert.equal(await sync(place), ["replaced a.jsonl.gz", "replaced b.csv", 0]);
  assert.equal(await ids(), before);
});

test("a record that is damaged, or cannot be read, is no record that is missing", async () => {
  await using place = await workplace();
  const { docs, directory } = place;
  const record = join(directory, "sync", "record.json");
  await place.write("a.txt", "ants");
  await place.write("private.txt", "secret");
  await model.sync(docs, { directory, ignore: ["private.txt"] });
  const whole = await readFile(record);
  const damages = [
    Buffer.alloc(0),
    Buffer.alloc(whole.length),
    whole.subarray(0, whole.length / 2),
    Buffer.from(whole.toString().replace("private.txt", "privatf.txt")),
    Buffer.from(whole.toString().replace('"checksum"', '"checksun"')),
    Buffer.from("[]"),
  ];
  for (const damaged of damages) {
    await writeFile(record, damaged);
    for (const source of [docs, [{ id: "x", text: "y" }]])
      assert.match(
        String(await model.openOrIndex(source, { directory }).catch(String)),
        /record\.json: expected the record .*, got damaged contents; restore it from a copy, or /,
      );
    await using index = await model.openIndex(directory);
    assert.is(index.passageCount, 1);
  }
  await writeFile(record, whole);
  assert.equal(await sync(place), [1]);
  const old = JSON.parse(whole.toString());
  delete old.checksum;
  await writeFile(record, JSON.stringify({ ...old, version: 1 })); // of an earlier version of reatt
  assert.equal(await sync(place), [1]);
});

test("readers of the user: their files are added, and leave with them", async () => {
  await using place = await workplace();
  const { docs, directory } = place;
  await place.write("a.txt", "The lion lives in Africa.");
  await place.write("b.shout", "the lion roars");
  const shout = defineReader({
    endings: ["shout"],
    async *read(file) {
      yield { title: "", blocks: [{ text: (await file.text()).toUpperCase(), headings: [] }] };
    },
    sample: "a",
  });
  const readers = [shout];
  await (await model.openOrIndex(docs, { directory, readers }))[Symbol.asyncDispose]();
  const { changes, unchanged, skipped } = await model.sync(docs, { directory, readers });
  assert.equal([changes, unchanged, skipped], [[], 2, []]);
  await using index = await model.openIndex(directory);
  assert.is((await index.passages([(await index.find("b.shout#1"))!]))[0]!.text, "THE LION ROARS");
  const without = await model.sync(docs, { directory });
  assert.equal(without.changes, [{ file: "b.shout", change: "deleted", passages: 1 }]);
});

test.run();
