/** Readers of documents on valid, empty, damaged and hostile files. */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type FilePatterns, filesOf } from "../../src/documents/file/folder.ts";
import type { SkippedFile } from "../../src/documents/read-documents.ts";
import { InputError } from "../../src/io/errors.ts";
import { temporary } from "../retrieval/support.ts";
import { docx, pdf, readAll, wordParagraph } from "./support.ts";

const folder = await temporary();
test.after(async () => {
  await folder[Symbol.asyncDispose]();
});

/** The passages of one file. */
async function read(name: string, contents: string | Buffer) {
  const path = join(folder.path, name);
  await writeFile(path, contents);
  return (await readAll(path)).passages;
}

/** The file is rejected in one line. */
async function rejects(name: string, contents: string | Buffer, message: RegExp): Promise<void> {
  const error = await read(name, contents).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, InputError, `${name}: ${error}`);
  assert.match((error as Error).message, message);
  assert.not.match((error as Error).message, /\n/);
}

const heading = (level: number) => `Heading${level}`;

const VALID: Readonly<Record<string, [contents: string | Buffer, title: string, text: RegExp]>> = {
  "a.txt": ["The lion lives in Africa.\n", "a", /^The lion/],
  "a.md": [
    "---\ntitle: Cats\n---\n# Big\n## Africa\nThe [lion](x.md) lives.\n",
    "Cats > Big > Africa",
    /^The lion lives\.$/,
  ],
  "a.html": [
    "<title>Cats</title><nav>Home</nav><h2>Africa</h2><p>The <b>lion</b> lives &amp; roars<script>alert(1)</script>.",
    "Cats > Africa",
    /^The lion lives & roars ?\.$/,
  ],
  "a.csv": ["id;title;text;year\n7;Cats;The lion;1999\n", "Cats", /^year: 1999\n\nThe lion$/],
  "a.tsv": ["name\tplace\nLion\tAfrica\n", "", /^name: Lion\nplace: Africa$/],
  "a.json": ['[{"id":1,"title":"Cats","text":"The lion"}]', "Cats", /^The lion$/],
  "a.docx": [
    docx(
      wordParagraph("Cats", heading(1)) +
        wordParagraph("Africa", heading(2)) +
        wordParagraph("The lion lives."),
    ),
    "Cats > Africa",
    /^The lion lives\.$/,
  ],
  "a.pdf": [pdf("The lion lives."), "a", /^The lion lives\.$/],
};

for (const [name, [contents, title, text]] of Object.entries(VALID))
  for (const gz of [false, true])
    test(`${name}${gz ? ".gz" : ""}: title, text and place`, async () => {
      const file = gz ? `${name}.gz` : name;
      const [passage, ...others] = await read(file, gz ? gzipSync(contents) : contents);
      assert.is(others.length, 0);
      assert.is(passage!.title, title);
      assert.match(passage!.text, text);
      const path = join(folder.path, file);
      assert.is(passage!.metadata!._source, path);
      assert.ok(passage!.id.startsWith(`${path}#`));
    });

test("metadata: lines, page, headings, columns as numbers", async () => {
  const at = (name: string) => join(folder.path, name);
  const [, second] = await read("m.md", "# T\nintro\n\n## A\n\n```\ncode\n\nmore\n```\n");
  assert.equal(second!.metadata, {
    ...{ _source: at("m.md"), _lines: "7-9", _headings: ["A"] },
    _blocks: "c10",
  });
  const pages = await read("p.pdf", pdf("One.", "Two."));
  assert.equal(
    pages.map(({ metadata }) => [metadata!._page, metadata!._pages]),
    [[1, "1-2"]],
  );
  const [row] = await read("n.csv", 'id,text,year,code\n7,"two\nlines",1999,007\n');
  const own = { _source: at("n.csv") };
  assert.equal(row!.metadata, { ...own, _lines: "2-3", year: 1999, code: "007" });
  assert.equal([row!.id, row!.document], [`${at("n.csv")}#7`, `${at("n.csv")}#7`]);
  const [capital] = await read("n.csv", "ID,Title,Text,Price\n7,Lamp,Of brass.,12\n");
  const { id, title, text, metadata } = capital!;
  assert.equal([id, title, text], [`${at("n.csv")}#7`, "Lamp", "Price: 12\n\nOf brass."]);
  assert.equal(metadata, { ...own, _lines: "2", _blocks: "l9 p20", Price: 12 });
});

test("metadata: the first 1,000 fields of a record, in each of its passages", async () => {
  const names = Array.from({ length: 3_000 }, (_, i) => `field ${i + 1}`);
  const record = Object.fromEntries(names.map((name) => [name, "word ".repeat(10)]));
  const passages = await read("wide.json", JSON.stringify([record]));
  assert.ok(passages.length > 100, `${passages.length}`);
  for (const { metadata } of passages)
    assert.equal(
      Object.keys(metadata!).filter((name) => name !== "_blocks"),
      ["_source", ...names.slice(0, 1_000)],
    );
});

test("tables in tables of a Word document", async () => {
  const inner = wordParagraph("Cats purr.");
  const table = (cell: string) => `<w:tbl><w:tr><w:tc>${cell}</w:tc></w:tr></w:tbl>`;
  const nested = Array.from({ length: 50 }).reduce<string>((cell) => table(cell + inner), inner);
  const [passage] = await read("tables.docx", docx(nested));
  assert.match(passage!.text, /^Cats purr\./);
});

test("encodings: byte order marks, a guess, and the charset of HTML", async () => {
  const text = "Der Löwe lebt in Afrika, die Füchse überall. Größe zählt für Bären nicht.";
  const utf16 = Buffer.from(`\ufeff${text}`, "utf16le");
  assert.is((await read("e.txt", utf16))[0]!.text, text);
  assert.is((await read("e.txt", Buffer.from(utf16).swap16()))[0]!.text, text);
  assert.is((await read("e.txt", `\ufeff${text}`))[0]!.text, text);
  assert.is((await read("e.txt", Buffer.from(text, "latin1")))[0]!.text, text);
  const greek = Buffer.concat([
    Buffer.from('<meta charset="iso-8859-7"><p>'),
    Buffer.from([0xe1, 0xe2]),
  ]);
  assert.is((await read("e.html", greek))[0]!.text, "αβ");
});

test("empty files have no text", async () => {
  const empty = {
    txt: "",
    md: "---\ntitle: x\n---\n",
    html: "<p> </p>",
    csv: "a,b\n",
    tsv: "",
    json: "[]",
  };
  for (const [ending, contents] of Object.entries({ ...empty, docx: docx(""), pdf: pdf("") }))
    await rejects(`empty.${ending}`, contents, /expected a document with text, got none/);
});

test("damaged files: one line that names the file", async () => {
  await rejects("bad.json", '{"a": ', /bad\.json: expected JSON, got/);
  await rejects("bad.docx", docx("x").subarray(0, 300), /bad\.docx: expected a Word document/);
  await rejects("no.docx", "text", /no\.docx: expected a Word document/);
  await rejects("bad.pdf", "%PDF-1.4 nothing", /bad\.pdf: expected a PDF document/);
  await rejects(
    "bad.txt.gz",
    gzipSync("x".repeat(100)).subarray(0, 20),
    /bad\.txt\.gz: expected a whole gzip file/,
  );
  await rejects("binary.txt", Buffer.alloc(100), /binary\.txt: expected text, got a binary file/);
});

test("hostile files: one line, little memory", async () => {
  const before = process.memoryUsage().rss;
  const bomb = docx(wordParagraph(" ".repeat(70 * 2 ** 20)));
  await rejects("bomb.docx", bomb, /bomb\.docx: expected a document of at most 67\.1 MB, got more/);
  await rejects(
    "deep.docx",
    docx("<w:tbl><w:tr><w:tc>".repeat(20_000)),
    /deep\.docx: expected a document of at most 1000 levels/,
  );
  await rejects(
    "bomb.txt.gz",
    gzipSync(Buffer.alloc(300e6, "a")),
    /at most 67\.1 MB, got more, decompressed/,
  );
  await rejects("deep.html", "<div>".repeat(100_000), /at most 1000 levels/);
  await rejects("deep.json", "[".repeat(100_000), /at most 100 levels of nesting/);
  await rejects("line.jsonl", Buffer.alloc(70e6, "a"), /a line of at most 64 MiB/);
  await rejects("line.csv", Buffer.alloc(2e6, "a"), /a row of at most 1048576 characters/);
  await rejects("script.html", `<script>${"a".repeat(1e6)}`, /got none/);
  const large = join(folder.path, "large.txt");
  await writeFile(large, "");
  await (await import("node:fs/promises")).truncate(large, 2 ** 30);
  assert.match(String(await readAll(large).catch(String)), /at most 67\.1 MB, got 1\.07 GB/);
  assert.ok(process.memoryUsage().rss - before < 1e9);
});

test("inputs that make other parsers slow are read", async () => {
  for (const [name, contents] of [
    ["stars.md", "*a_ ".repeat(2_000)],
    ["brackets.md", "[".repeat(20_000)],
    ["quotes.md", `${">".repeat(20_000)} a\n\nb`],
    ["table.html", `<table>${"<tr><td>a<td>b".repeat(3_000)}`],
    ["unclosed.html", "<p>x".repeat(2_000)],
  ] as const)
    assert.ok((await read(name, contents)).length > 0, name);
});

test("a folder: ignored, hidden and linked files, and files that no reader knows", async () => {
  const root = join(folder.path, "root");
  await mkdir(join(root, "sub", "deep"), { recursive: true });
  const files = {
    ".hidden.txt": "x",
    ".gitignore": "secret.txt\n*.log.txt\n/drafts\n",
    "secret.txt": "x",
    "b.txt": "bee",
    "a.txt": "ant",
    "c.png": Buffer.from("\x89PNG\0"),
    "zero.txt": Buffer.alloc(10),
    "sub/.reattignore": "!secret.txt\nno.txt\n",
    "sub/secret.txt": "kept",
    "sub/no.txt": "x",
    "sub/x.log.txt": "x",
    "sub/deep/bad.json": "{",
    "sub/deep/50% #1.txt": "odd name",
  };
  for (const [name, contents] of Object.entries(files)) await writeFile(join(root, name), contents);
  await symlink("/etc/hostname", join(root, "link.txt"));
  await symlink("/etc", join(root, "etc"));
  const { passages, skipped } = await readAll(root);
  assert.equal(
    passages.map(({ id }) => id),
    ["a.txt#1", "b.txt#1", "sub/deep/50%25 %231.txt#1", "sub/secret.txt#1"],
  );
  assert.equal(Object.keys(skipped).sort(), [
    "c.png",
    "etc",
    "link.txt",
    "sub/deep/bad.json",
    "zero.txt",
  ]);
  assert.match(skipped["link.txt"]!, /got a symbolic link/);
  assert.match(skipped["c.png"]!, /got \.png/);
});

test("a folder: patterns regard case", async () => {
  const root = join(folder.path, "case");
  await mkdir(root);
  for (const [name, contents] of [
    [".gitignore", "build.txt\nREADME.md\n"],
    ["BUILD.txt", "kept"],
    ["build.txt", "x"],
    ["Readme.md", "kept"],
  ] as const)
    await writeFile(join(root, name), contents);
  const { passages } = await readAll(root);
  assert.equal(
    passages.map(({ id }) => id),
    ["BUILD.txt#1", "Readme.md#1"],
  );
});

test("a defect of a reader costs one file of a folder", async () => {
  const root = join(folder.path, "defects");
  mkdirSync(root);
  for (const text of ["ant", "bee", "cat"]) await writeFile(join(root, `${text}.txt`), text);
  const encode = (text: string): number[] => {
    if (text.includes("bee")) throw new TypeError("x is not a function");
    return [1];
  };
  const problems: InputError[] = [];
  const onSkip = ({ problem }: SkippedFile): void => void problems.push(problem);
  const { passages } = await readAll(root, { tokenizer: { encode }, onSkip });
  assert.equal(
    passages.map(({ id }) => id),
    ["ant.txt#1", "cat.txt#1"],
  );
  assert.equal(problems.length, 1);
  assert.is(problems[0]!.code, "ERR_REATT_DEFECT");
  assert.is(problems[0]!.where, join(root, "bee.txt"));
  assert.match(problems[0]!.got, /TypeError: x is not a function/);
  assert.match((problems[0]!.cause as Error).stack!, /encode/);
});

test("a reader that the caller stops is no defect", async () => {
  const path = join(folder.path, "stopped.txt");
  await writeFile(path, "ant");
  const controller = new AbortController();
  const encode = (): number[] => {
    controller.abort(new Error("stopped"));
    throw new TypeError("after the stop");
  };
  const read = readAll(path, { tokenizer: { encode }, signal: controller.signal });
  const thrown = await read.catch((error: unknown) => error);
  assert.not.instance(thrown, InputError);
});

const namesOf = async (root: string, patterns: FilePatterns): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of filesOf(root, undefined, patterns)) names.push(name);
  return names;
};

test("patterns choose files; those to leave out count more than the rules of a folder", async () => {
  const root = join(folder.path, "patterns");
  await mkdir(join(root, "sub"), { recursive: true });
  await writeFile(join(root, ".gitignore"), "no.md\n*.txt\n!a.txt\n");
  for (const name of ["a.txt", "b.md", "no.md", "sub/c.md"]) await writeFile(join(root, name), "x");
  assert.equal(await namesOf(root, {}), ["a.txt", "b.md", "sub/c.md"]);
  assert.equal(await namesOf(root, { ignore: ["a.txt", "sub/"] }), ["b.md"]);
  assert.equal(await namesOf(root, { include: ["*.md"] }), ["b.md", "sub/c.md"]);
  assert.equal(await namesOf(root, { include: ["sub"], ignore: ["b.md"] }), ["sub/c.md"]);
});

test("a folder that cannot be read is reported whatever files are included", async () => {
  const root = join(folder.path, "deep");
  const part = "d".repeat(250);
  const before = process.cwd();
  await mkdir(root);
  process.chdir(root);
  for (let i = 0; i < 20; i++) {
    mkdirSync(part); // until the path is longer than the system takes
    process.chdir(part);
  }
  process.chdir(before);
  try {
    const [name, ...others] = await namesOf(root, { include: ["*.md"] });
    assert.match(name!, /^(?:d{250}\/)+d{250}$/);
    assert.equal(others, []);
  } finally {
    execFileSync("rm", ["-r", root]);
  }
});

test("a folder without documents, and one that does not exist", async () => {
  await mkdir(join(folder.path, "none"));
  assert.match(String(await readAll(join(folder.path, "none")).catch(String)), /got no file/);
  assert.match(String(await readAll(join(folder.path, "nowhere")).catch(String)), /ENOENT/);
});

test("a file of passages keeps its ids; long ones are split on request", async () => {
  const lines = [
    { _id: "x", text: "short" },
    { _id: "y", title: "T", text: "One two three. ".repeat(100) },
  ];
  const path = join(folder.path, "corpus.json");
  await writeFile(path, lines.map((line) => JSON.stringify(line)).join("\n"));
  assert.equal(
    (await readAll(path)).passages.map(({ id }) => id),
    ["x", "y"],
  );
  const { passages } = await readAll(path, { splitRecords: true });
  assert.equal(passages.map(({ id, document }) => [id, document]).slice(0, 2), [
    ["x", "x"],
    ["y#1", "y"],
  ]);
  assert.is(
    passages
      .slice(1)
      .map(({ text }) => text)
      .join(" "),
    lines[1]!.text.trim(),
  );
});

test.run();
