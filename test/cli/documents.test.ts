/** From a folder of documents to an answer on the command line, with the embedded model. */

import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { SkippedFile } from "../../src/documents/read-documents.ts";
import { passagePrompt } from "../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { writeMixedDocuments } from "../documents/mixed.ts";
import { temporary } from "../retrieval/support.ts";
import { moduleArguments } from "../support/node-program.ts";
import { TOKENIZER, writeLexicalModel } from "../support/training.ts";
import { runCaptured } from "./support.ts";

const MODEL = ["--model", "models/reatt-mini"];
const folder = await temporary();
const small = join(folder.path, "model");
await writeLexicalModel(small);
/** For what does not depend on answers. */
const SMALL = ["--model", small];
const tokenizer = await loadTokenizer(TOKENIZER);
test.after(async () => {
  await folder[Symbol.asyncDispose]();
});
const docs = join(folder.path, "docs");
const index = join(folder.path, "index");
await writeMixedDocuments(docs);

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCaptured(args);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
};

test("a folder of mixed documents is indexed and answers", async () => {
  const args = ["index", ...MODEL, "--corpus", docs, "--out", index, "--json"];
  const { code, stdout, stderr } = await runCaptured(args);
  assert.is(code, 3, stderr);
  assert.match(stderr, /read in part: 2 files and 0 parts of files could not be read/);
  assert.match(stderr, /skipped 1 of unknown format: logo\.png/);
  assert.match(stderr, /skipped .*broken\.json: expected JSON/);
  assert.match(stderr, /skipped .*memory\.txt: expected text, got a binary file/);
  assert.match(stderr, /Indexed 7 passages/);
  const { passages, skipped } = JSON.parse(stdout);
  assert.is(passages, 7);
  assert.equal(
    skipped.map(({ file, isDamage }: SkippedFile) => [file, isDamage]),
    [
      ["broken.json", true],
      ["logo.png", false],
      ["memory.txt", true],
    ],
  );
  for (const [question, answer, source] of [
    ["Who patented a steam engine in 1781?", "James Watt", "steam.md"],
    ["Where does the lion live?", /Africa/, "animals.csv"],
  ] as const) {
    const reply = await json(
      "answer",
      ...MODEL,
      "--index",
      index,
      "--question",
      question,
      "--json",
    );
    assert.match(reply.answer, answer);
    assert.is(reply.passages[0].metadata._source, source);
  }
});

test("a corpus that is no use: what is wrong with it, in the words of the command line", async () => {
  const useless = join(folder.path, "useless");
  await mkdir(useless);
  await writeFile(join(useless, "old.doc"), "x");
  const build = async (corpus: string, ...args: string[]) => {
    const out = join(folder.path, "none");
    return (await runCaptured(["index", ...SMALL, "--corpus", corpus, "--out", out, ...args]))
      .stderr;
  };
  assert.match(
    await build(useless),
    /^skipped 1 of unknown format: old\.doc\nformats that are read: .*\nreatt: .*useless: /,
  );
  assert.match(
    await build(join(folder.path, "nowhere")),
    /nowhere: expected a file or a folder of documents, got ENOENT/,
  );
  assert.match(
    await build(docs, "--overlap-words", "60"),
    /^reatt: --overlap-words: expected at most half of --passage-words, which is 100, got 60;/,
  );
});

test("a long record is indexed in windows; only a long title is cut, and reported", async () => {
  const corpus = join(folder.path, "long.jsonl");
  const text = "The committee met on a rainy day. ".repeat(150);
  const write = (lines: readonly object[]) =>
    writeFile(corpus, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await write([
    { id: "short", text: "Short." },
    { id: "x", text },
  ]);
  const out = join(folder.path, "long");
  const build = ["index", ...SMALL, "--corpus", corpus, "--out", out];
  assert.not.match((await runCaptured(build)).stderr, /warning/);
  const info = () => json("index", "info", "--index", out, "--json");
  const { cut, tokens } = await info();
  const count = (text: string) => tokenizer.encode(passagePrompt({ title: "", text })).length + 1;
  assert.equal(cut, { passages: 0, tokens: 0 });
  assert.ok(tokens >= count(text) + count("Short."), `${tokens} keys`);
  await write([{ id: "x", title: text, text }]);
  const { stderr } = await runCaptured([...build, "--replace"]);
  const [, lost] = /warning: 1 passage is longer than 512 tokens; (\d+) tokens are cut/.exec(
    stderr,
  )!;
  assert.equal((await info()).cut, { passages: 1, tokens: Number(lost) });
});

test("the first sync after index reads and splits nothing again", async () => {
  const out = join(folder.path, "recorded");
  const build = ["index", ...SMALL, "--corpus", docs, "--out", out, "--passage-words", "50"];
  assert.is((await runCaptured(build)).code, 3);
  const sync = async (...args: string[]) =>
    (await runCaptured(["sync", docs, ...SMALL, "--index", out, ...args])).stdout;
  assert.is(await sync(), "0 added, 0 replaced, 0 deleted, 7 unchanged\n");
  assert.match(
    await sync("--passage-words", "60"),
    /0 added, 7 replaced, 0 deleted, 0 unchanged\n$/,
  );
  assert.is((await runCaptured([...build, "--replace"])).code, 3);
  await writeFile(join(docs, "late.txt"), "It was late.");
  assert.match(await sync(), /1 added, 0 replaced, 0 deleted, 7 unchanged\n$/);
  await rm(join(docs, "late.txt"));
  assert.match(await sync(), /0 added, 0 replaced, 1 deleted, 7 unchanged\n$/);
});

test("what cannot be read is in the exit code, and --strict ends with it", async () => {
  const lines = join(folder.path, "lines.jsonl");
  await writeFile(lines, '{"text": "The lion lives in Africa."}\n{"text": \n');
  const out = join(folder.path, "in-part");
  const args = ["index", ...SMALL, "--corpus", lines, "--out", out];
  const strict = await runCaptured([...args, "--strict"]);
  assert.is(strict.code, 1);
  assert.match(strict.stderr, /^reatt: .*lines\.jsonl:2: /m);
  const { code, stderr } = await runCaptured(args);
  assert.is(code, 3, stderr);
  assert.match(stderr, /read in part: 0 files and 1 parts of files could not be read/);
  assert.is((await runCaptured(["sync", docs, ...SMALL, "--index", join(out, "x")])).code, 3);
  await writeFile(lines, '{"text": "The lion lives in Africa."}\n');
  assert.is((await runCaptured([...args, "--replace", "--strict"])).code, 0);
});

test("sync prints what it did", async () => {
  const out = join(folder.path, "synced");
  const sync = async () => (await runCaptured(["sync", docs, ...SMALL, "--index", out])).stdout;
  assert.match(
    await sync(),
    /added steam\.md, passages: 1\nadded towns\.jsonl, passages: 1\n7 added, 0 replaced, 0 deleted, 0 unchanged\n$/,
  );
  await writeFile(join(docs, "new.txt"), "Something new.");
  assert.match(
    await sync(),
    /^added new\.txt, passages: 1\n1 added, 0 replaced, 0 deleted, 7 unchanged\n$/,
  );
});

test("standard input, and sync --watch until it is interrupted", async () => {
  const out = join(folder.path, "stdin");
  const reatt = (...args: string[]) =>
    spawn(process.execPath, [...moduleArguments("src/cli/main.ts"), ...args]);
  const build = reatt("index", ...SMALL, "--corpus", "-", "--out", out);
  build.stdin.end("The lion lives in Africa.");
  assert.is(await new Promise((resolve) => build.once("exit", resolve)), 0);
  assert.is((await json("index", "info", "--index", out, "--json")).passages, 1);
  const empty = reatt("index", ...SMALL, "--corpus", "-", "--out", join(folder.path, "empty"));
  empty.stdin.end(" \n");
  const [problem] = await empty.stderr.setEncoding("utf8").toArray();
  assert.match(problem, /^reatt: standard input: expected a document with text, got none;/);

  const inside = join(docs, "index"); // its own changes are none of the documents
  const watch = reatt("sync", docs, ...SMALL, "--index", inside, "--watch");
  let printed = "";
  const prints = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => pattern.test(printed) && resolve();
      watch.stdout.on("data", (text) => {
        printed += text;
        look();
      });
      look();
    });
  await prints(/unchanged/);
  await writeFile(join(docs, "watched.txt"), "Written while it watches.");
  await prints(/added watched\.txt/);
  await sleep(1_500);
  assert.not.match(printed, /^0 added/m);
  watch.kill("SIGINT");
  assert.is(await new Promise((resolve) => watch.once("exit", resolve)), 130);
});

test.run();
