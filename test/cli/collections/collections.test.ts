/** `reatt.config.json`: written, asked about, and obeyed by name. */

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { temporary } from "../../retrieval/support.ts";
import { runCaptured } from "../support.ts";

const MODEL = ["--model", resolve("models/reatt-mini")];
const folder = await temporary();
const [top, config] = [process.cwd(), join(folder.path, "reatt.config.json")];
process.env.XDG_CONFIG_HOME = join(folder.path, "settings");
await mkdir(join(folder.path, "docs"));
await mkdir(join(folder.path, "notes"));
await writeFile(join(folder.path, "docs", "lion.md"), "# Lion\n\nThe lion lives in Africa.\n");
await writeFile(join(folder.path, "docs", "draft.txt"), "A draft.\n");
await writeFile(join(folder.path, "docs", "bad.json"), "{bad");
await writeFile(join(folder.path, "notes", "rhine.txt"), "The Rhine flows to the North Sea.\n");
process.chdir(folder.path);
test.after(async () => {
  process.chdir(top);
  await folder[Symbol.asyncDispose]();
});

const ok = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCaptured(args);
  assert.is(code, 0, stderr);
  return stdout;
};
/** What a command prints that could not read a file of the folder. */
const inPart = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCaptured(args);
  assert.is(code, 3, stderr);
  return stdout;
};
const fails = async (message: RegExp, ...args: string[]): Promise<void> => {
  const { code, stderr } = await runCaptured(args);
  assert.is.not(code, 0);
  assert.match(stderr, message);
};

test("without a file: what to do, and init writes one after a look at the folder", async () => {
  await fails(/there is no reatt\.config\.json; reatt init writes one/, "status");
  await fails(/--index DIR\|NAME,\.\.\. is missing/, "answer", "Where?");
  await fails(/FOLDER is missing/, "sync");
  await mkdir("empty");
  await fails(/expected a folder of documents .*, got no document/, "init", "empty");
  assert.match(await ok("init", "docs"), /3 documents \(.*1 \.md.*\)/);
  assert.equal(JSON.parse(await readFile(config, "utf8")), {
    collections: { docs: { path: "docs" } },
  });
  assert.match(await ok("status"), /not indexed yet\n {2}new or changed: 3, gone: 0/);
});

test("the only collection needs no name", async () => {
  assert.match(await inPart("sync", ...MODEL), /added lion\.md, passages: 1/);
  assert.match(await ok("answer", ...MODEL, "Where does the lion live?"), /Africa/);
  const [status] = (await ok("status", "--json"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal([status.indexed.passages, status.changed, status.removed], [2, 0, 0]);
  assert.match(status.failed["bad.json"], /expected JSON/);
});

test("a file that changed or came from elsewhere is not obeyed until it is accepted", async () => {
  const collections = {
    docs: { path: "docs", include: ["*.md", "*.txt"], ignore: ["draft*"], description: "Animals" },
    notes: { path: "notes", index: "other/index" },
  };
  await writeFile(config, JSON.stringify({ collections }));
  for (const command of [["sync"], ["status"], ["answer", "--index", "docs", "Where?"], ["init"]])
    await fails(/new here or changed|one that exists/, ...command);
  assert.match(await ok("init", "--yes"), /notes: reads .*notes, writes .*other\/index\naccepted/);
  assert.match(await ok("sync", ...MODEL), /deleted draft\.txt.*added rhine\.txt/s);
  assert.match(await ok("status"), /^docs: Animals\n.*files: 1, passages: 1.*up to date/s);
});

test("the index of a collection can be in a store", async () => {
  const before = await readFile(config, "utf8");
  const index = "postgres://me:secret@127.0.0.1:1/library/manuals"; // where nothing listens
  await writeFile(config, JSON.stringify({ collections: { docs: { path: "docs", index } } }));
  assert.match(await ok("init", "--yes"), /docs: reads .*docs, writes postgres:\/\/me@.*manuals\n/);
  const away = /postgres:\/\/me@127\.0\.0\.1:1\/library\/manuals: expected a server that answers/;
  await fails(away, "status");
  await fails(/--store with --index: give one of them/, "mcp", "--store", index, "--index", "docs");
  await writeFile(config, before);
  await ok("init", "--yes");
});

test("patterns that are removed from the file count no more", async () => {
  const whole = await readFile(config, "utf8");
  const { docs, notes } = JSON.parse(whole).collections;
  const { include: _, ignore: __, ...open } = docs;
  await writeFile(config, JSON.stringify({ collections: { docs: open, notes } }));
  await ok("init", "--yes");
  assert.match(await inPart("sync", ...MODEL, "docs"), /added draft\.txt/);
  assert.match(await ok("status", "docs"), /files: 2, .*up to date/s);
  await writeFile(config, whole);
  await ok("init", "--yes");
  assert.match(await ok("sync", ...MODEL, "docs"), /deleted draft\.txt/);
});

test("commands take the name of a collection, also below the folder of the file", async () => {
  process.chdir("docs");
  assert.match(await ok("retrieve", ...MODEL, "--index", "notes", "Rhine"), /North Sea/);
  assert.match(await ok("index", "info", "--index", "docs"), /passages +1/);
  await fails(/--index NAME is missing; the collections are docs, notes/, "index", "info");
  await fails(/nope: no collection/, "sync", "nope");
  process.chdir("..");
});

test("several collections are searched as one: those that are named, or all", async () => {
  const found = async (...args: string[]) => {
    const [line] = (await ok("retrieve", ...MODEL, "--json", ...args)).split("\n");
    return JSON.parse(line!).results.map((hit: { collection: string; id: string }) => [
      hit.collection,
      hit.id,
    ]);
  };
  const both = [
    ["notes", "rhine.txt#1"],
    ["docs", "lion.md#1"],
  ];
  assert.equal(await found("Where does the Rhine flow?"), both);
  assert.equal(await found("--index", "docs,notes", "Where does the Rhine flow?"), both);
  assert.equal(await found("--where", 'collection = "docs"', "Rhine"), [both[1]]);
  assert.equal(await found("--index", ".reatt/docs,notes", "Rhine"), both);
  assert.equal(await found("--index", "notes", "Rhine"), [[undefined, "rhine.txt#1"]]);
  assert.match(await ok("answer", ...MODEL, "Where does the lion live?"), /1\. docs: Lion \(lion/);
  const paths = await ok("retrieve", ...MODEL, "--files", "Rhine");
  assert.is(paths, `${resolve("notes/rhine.txt")}\n${resolve("docs/lion.md")}\n`);
  assert.match(await ok("status", "docs,notes"), /^docs: Animals\n.*notes\n/s);
  await fails(
    /nope: no collection|nope.*expected an index/,
    "answer",
    "--index",
    "docs,nope",
    "Where?",
  );
});

test("what has no index yet is left out, and other models are one error", async () => {
  const before = await readFile(config, "utf8");
  const { collections } = JSON.parse(before);
  const later = { ...collections, later: { path: "empty" } };
  await writeFile(config, JSON.stringify({ collections: later }));
  await ok("init", "--yes");
  const { code, stdout, stderr } = await runCaptured(["retrieve", ...MODEL, "Rhine"]);
  assert.is(code, 0, stderr);
  assert.match(stderr, /not indexed yet: later; see reatt sync\n/);
  assert.match(stdout, /notes: rhine.*docs: Lion/s);
  const other = { ...collections, notes: { ...collections.notes, model: "runs/other" } };
  await writeFile(config, JSON.stringify({ collections: other }));
  await ok("init", "--yes");
  await fails(
    /have different models: docs .*, notes runs\/other; give --index/,
    "retrieve",
    "Rhine",
  );
  await writeFile(config, before);
  await ok("init", "--yes");
});

test("a collection gives links and a description to hits, and instructions are shown first", async () => {
  const linkBase = "https://example.org/view?file=";
  const assistant = { instructions: "Quote \u001b[2K the notes." };
  const notes = { path: "notes", index: "other/index", description: "Rivers", linkBase, assistant };
  const script = { ...notes, linkBase: "javascript:alert(1)//" };
  await writeFile(config, JSON.stringify({ collections: { notes: script } }));
  await fails(/got collections\.notes\.linkBase: an address of http, https or file;/, "status");
  await writeFile(config, JSON.stringify({ collections: { notes } }));
  assert.match(await ok("init", "--yes"), /tells assistants .*Quote .*the notes/);
  const [line] = (await ok("retrieve", ...MODEL, "--json", "Rhine")).split("\n");
  const [hit] = JSON.parse(line!).results;
  assert.equal([hit.description, hit.link], ["Rivers", `${linkBase}rhine.txt`]);
  const given = ["--link-base", "https://example.org/d"];
  assert.match(await ok("retrieve", ...MODEL, ...given, "--json", "Rhine"), /org\/d\/rhine\.txt/);
});

test("hits as paths, as a table and as Markdown", async () => {
  const file = resolve("notes/rhine.txt");
  assert.is(await ok("retrieve", ...MODEL, "--files", "Rhine"), `${file}\n`);
  const [header, row, end] = (await ok("retrieve", ...MODEL, "--csv", 'the "Rhine"')).split("\r\n");
  assert.is(header, "question,rank,score,id,title,path,place,link,text");
  const place = `${file},line 1,https://example.org/view?file=rhine.txt`;
  const cells = /^"the ""Rhine""",1,[\d.e-]+,rhine\.txt#1,rhine,/;
  assert.match(row!, cells);
  assert.ok(row!.endsWith(`${place},The Rhine flows to the North Sea.`), row);
  assert.is(end, "");
  const markdown = await ok("retrieve", ...MODEL, "--md", "Rhine");
  assert.match(markdown, /^## Rhine\n\n1\. \[\*\*rhine\*\*\]\(<https.*>\) \(.*, line 1, [\d.]+\)/);
  assert.match(markdown, /\n {3}> The Rhine flows to the North Sea\.\n/);
  await fails(/--files with --csv/, "retrieve", ...MODEL, "--files", "--csv", "Rhine");
});

test("the file can be YAML", async () => {
  await rm(config);
  const yaml = join(folder.path, "reatt.config.yaml");
  await writeFile(yaml, "collections:\n  rivers: { path: notes, index: other/index }\n");
  assert.match(await ok("init", "--yes"), /rivers: reads .*notes/);
  assert.match(await ok("retrieve", ...MODEL, "--index", "rivers", "Rhine"), /North Sea/);
  await writeFile(yaml, "collections: [\n");
  await fails(/reatt\.config\.yaml: expected collections/, "status");
  await rm(yaml);
});

test("no character of the file or of a name can change what the terminal shows", async () => {
  await mkdir("marked");
  await writeFile(join("marked", "a\u001b[2K.md"), "# Ant\n\nThe ant is small.\n");
  await writeFile(join("marked", "b\u001b[2K.json"), "{bad");
  const hidden = { path: "marked", description: "x\u001b[8m", model: "y\u202e\r" };
  await writeFile(config, JSON.stringify({ collections: { hidden } }));
  const shown = [await ok("init", "--yes"), await inPart("sync", ...MODEL), await ok("status")];
  assert.match(shown[0]!, /hidden: reads .*marked, writes .*, model .*y/);
  assert.match(shown[1]!, /added a.*\.md/);
  assert.match(shown[2]!, /hidden: x.*failed: b/s);
  for (const text of shown) assert.not.match(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
});

test("a file with mistakes is one line", async () => {
  for (const [text, message] of [
    ["{", /JSON/],
    ['{"collections": {}}', /at least one collection/],
    ['{"collections": {"a": {"path": "."}, "../b": {"path": "."}}}', /collections/],
    ['{"collections": {"a": {"path": ".", "run": "rm"}}}', /collections\.a: .*run/],
  ] as const) {
    await writeFile(config, text);
    await fails(message, "status");
  }
});

test.run();
