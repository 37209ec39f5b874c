/** `reatt index` and its maintenance commands, with the embedded model and two windows of text. */

import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readManifest, segmentPath } from "../../src/retrieval/index/format/manifest.ts";
import { sameBytes, temporary } from "../retrieval/support.ts";
import { runCaptured } from "./support.ts";

const MODEL = ["--model", "models/reatt-mini"];
const folder = await temporary();
test.after(async () => {
  await folder[Symbol.asyncDispose]();
});
const at = (...names: string[]) => join(folder.path, ...names);

const reatt = (...args: string[]) => runCaptured(args);

/** What a command that succeeds prints. */
async function prints(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await reatt(...args);
  assert.is(code, 0, stderr);
  return stdout;
}

/** One line on stderr, nothing on stdout, no stack. */
async function fails(code: number, message: RegExp, ...args: string[]): Promise<void> {
  const outcome = await reatt(...args);
  assert.match(outcome.stderr, message);
  assert.match(outcome.stderr, /^reatt: [^\n]+\n$/);
  assert.equal([outcome.stdout, outcome.code], ["", code]);
}

const CITIES = ["Paris", "Rome", "Lima", "Oslo", "Cairo", "Delhi", "Quito"];
const passage = (i: number) => ({ _id: `p${i}`, text: `${CITIES[i % 7]} has ${i} bridges.` });
async function corpus(name: string, ...passages: readonly object[]): Promise<string> {
  await writeFile(at(name), passages.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return at(name);
}
const CORPUS = await corpus("corpus.jsonl", ...Array.from({ length: 600 }, (_, i) => passage(i)));

const build = (out: string, ...args: string[]) =>
  reatt("index", ...MODEL, "--corpus", CORPUS, "--out", at(out), ...args);
const info = async (index: string) =>
  JSON.parse(await prints("index", "info", "--index", at(index), "--json"));
const found = async (index: string, question: string, ...args: string[]): Promise<string[]> => {
  const asked = ["--index", at(index), "--question", question, "--top-k", "5", "--json"];
  const { results } = JSON.parse(await prints("retrieve", ...MODEL, ...asked, ...args));
  return results.map(({ id }: { id: string }) => id);
};

test("a compressed index is built after a forecast that is near, and searched by each preset", async () => {
  const { code, stdout, stderr } = await build("small", "--bits", "2");
  assert.equal([code, stdout], [0, ""]);
  const [, tokens, size, unit] =
    /^600 passages, about (\d+) tokens: an index of about ([\d.]+) (kB|MB), /.exec(stderr)!;
  const { passages, bits, ...actual } = await info("small");
  assert.equal([passages, bits], [600, 2]);
  assert.ok(Math.abs(Number(tokens) / actual.tokens - 1) < 0.05, stderr);
  const bytes = Number(size) * (unit === "kB" ? 1e3 : 1e6);
  assert.ok(Math.abs(bytes / actual.bytes - 1) < 0.3, `${stderr}, in fact ${actual.bytes}`);
  await build("exact");
  const question = "Which city has 15 bridges?";
  const [best] = await found("exact", question);
  assert.ok((await found("small", question, "--preset", "exact")).includes(best!));
  for (const preset of ["fast", "balanced"])
    assert.is(new Set(await found("small", question, "--preset", preset)).size, 5);
});

test("an existing index is replaced with --replace only", async () => {
  const small = await corpus("three.jsonl", passage(1), passage(2), passage(3));
  const options = ["index", ...MODEL, "--corpus", small, "--out", at("again")];
  await prints(...options);
  await fails(
    1,
    /again: expected a folder without an index, got an index; .*--replace/,
    ...options,
  );
  const onFile = ["index", ...MODEL, "--corpus", small, "--out", small, "--replace"];
  await fails(1, /three\.jsonl: expected a folder for the index, got a file/, ...onFile);
  await prints(...options, "--replace");
  assert.equal([(await info("again")).generation, (await info("again")).bits], [2, 32]);
});

test("--where filters by metadata, and --granularity document goes by document id", async () => {
  const of = (i: number, more: object) => ({ ...passage(i), ...more });
  const file = await corpus(
    "metadata.jsonl",
    of(1, { year: 2019, document: "a", metadata: { lang: "en" } }),
    of(2, { year: 2020, document: "a", tags: ["x", "y"], ignored: [{ a: 1 }] }),
    of(3, { year: 2021, document: 7, title: "T" }),
    of(4, { title: "T" }),
  );
  await prints("index", ...MODEL, "--corpus", file, "--out", at("fields"));
  const question = "Which city has bridges?";
  for (const engine of [[], ["--lambda", "0.1"], ["--preset", "exact"]])
    for (const [where, expected] of [
      ["year >= 2020", ["p2", "p3"]],
      ["tags contains 'x' or lang = 'en'", ["p1", "p2"]],
      ["not year exists", ["p4"]],
      ["document in ('a', '7') and not (year < 2020 or year > 2020)", ["p2"]],
    ] as const)
      assert.equal((await found("fields", question, "--where", where, ...engine)).sort(), expected);
  await writeFile(at("two ids"), "p1\np2\n");
  const both = ["--ids", at("two ids"), "--where", "year > 2019"];
  assert.equal(await found("fields", question, ...both), ["p2"]);
  const ask = ["--index", at("fields"), "--question", question, "--json"];
  const documents = await prints("retrieve", ...MODEL, ...ask, "--granularity", "document");
  const names = JSON.parse(documents).results.map((hit: { document: string }) => hit.document);
  assert.equal(names.sort(), ["7", "T", "a"]);
  const answered = await prints("answer", ...MODEL, ...ask, "--where", "year = 2020");
  const { document, metadata } = JSON.parse(answered).passages[0];
  assert.equal([document, metadata], ["a", { year: 2020, tags: ["x", "y"] }]);
  const bad = ["retrieve", ...MODEL, ...ask, "--where", "lang = en"];
  await fails(1, /condition "lang = en", character 8: expected a value.*in quotes\?/, ...bad);
});

test("an index of some of the tokens says how many", async () => {
  await build("part", "--keep-ratio", "0.25"); // of passages this short, 0.5 keeps all tokens
  assert.is((await info("part")).header.keepTokens, 0.25);
  assert.match(
    await prints("index", "info", "--index", at("part")),
    /^keep ratio +0\.25, tokens chosen by \w+/m,
  );
  assert.ok((await info("part")).tokens < (await info("exact")).tokens);
  const options = ["--corpus", CORPUS, "--out", at("none"), "--keep-ratio", "0.1"];
  await fails(
    2,
    /--keep-ratio: expected a number from 0\.25 to 1, got "0\.1"/,
    "index",
    ...MODEL,
    ...options,
  );
});

test("an index with states says so, is extended with states, and answers", async () => {
  const small = await corpus("two.jsonl", passage(1), passage(2));
  const index = at("states");
  const { stderr } = await reatt(
    ...["index", ...MODEL, "--corpus", small, "--out", index, "--keep-states"],
  );
  assert.match(stderr, /^2 passages, about \d+ tokens: an index of about /);
  const more = await corpus("four.jsonl", passage(3), passage(4));
  await prints("index", "add", ...MODEL, "--index", index, "--corpus", more);
  await prints("index", "delete", "--index", index, "p1");
  await prints("index", "compact", "--index", index);
  assert.is(await prints("index", "verify", "--index", index), "whole\n");
  const { tokens, states, header } = await info("states");
  assert.equal([states.tokens, header.states.size], [tokens, 384]);
  const rows = await prints("index", "info", "--index", index);
  assert.match(rows, new RegExp(`^states +[\\d.]+ kB, ${states.bytesPerToken} bytes a token`, "m"));
  const ask = ["--index", index, "--question", "Which city has 3 bridges?", "--json"];
  const { passages } = JSON.parse(await prints("answer", ...MODEL, ...ask, "--top-k", "2"));
  assert.is(passages.length, 2);
});

test("shards are merged to the index that one build makes, in any order", async () => {
  for (const shard of ["1/2", "2/2"])
    assert.is((await build(`shard ${shard[0]}`, "--shard", shard)).code, 0);
  assert.equal((await info("shard 2")).shard, { index: 1, count: 2 });
  const shards = [at("shard 2"), at("shard 1")];
  await prints("index", "merge", "--out", at("merged"), ...shards);
  await sameBytes(at("merged"), at("exact"));
  await prints("index", "merge", "--out", at("merged small"), "--bits", "2", ...shards);
  await sameBytes(at("merged small"), at("small"));
  await fails(
    1,
    /expected shard 1 of 1, got shard 2 of 2/,
    "index",
    "merge",
    "--out",
    at("none"),
    shards[0]!,
  );
  await fails(2, /which shards/, "index", "merge", "--out", at("none"));
});

test("passages are added, replaced, deleted, and compacted", async () => {
  const index = ["--index", at("small")];
  const news = await corpus(
    "news.jsonl",
    { _id: "new", text: "Berlin has a tower." },
    { ...passage(3), text: "Bonn." },
  );
  await prints("index", "add", ...MODEL, ...index, "--corpus", news);
  assert.is((await found("small", "Where is the tower in Berlin?"))[0], "new");
  assert.is((await info("small")).passages, 601);
  assert.is(
    await prints("index", "delete", ...index, "new", "p5", "unknown"),
    "2 passages deleted\n",
  );
  await writeFile(at("ids"), "p6\r\np7\n");
  assert.is(
    await prints("index", "delete", ...index, "--ids", at("ids"), "--json"),
    '{"deleted":2}\n',
  );
  assert.not((await found("small", "Where is the tower in Berlin?")).includes("new"));
  assert.is((await info("small")).deletedPassages, 5);
  await prints("index", "compact", ...index);
  const { passages, deletedPassages, segments, generation } = await info("small");
  assert.equal([passages, deletedPassages, segments, generation], [597, 0, 1, 5]);
  assert.match(
    await prints("index", "info", ...index),
    /^passages {4}597\n.*\nsize .* bytes a token\n/s,
  );
});

test("verify names what is damaged and ends with 1", async () => {
  const index = ["--index", at("exact")];
  assert.is(await prints("index", "verify", ...index), "whole\n");
  const path = join(
    segmentPath(at("exact"), (await readManifest(at("exact"))).segments[0]!.name),
    "keys.f32",
  );
  const file = await open(path, "r+");
  await file.write(Buffer.from("x"), 0, 1, 1000);
  await file.close();
  const { code, stdout, stderr } = await reatt("index", "verify", ...index);
  assert.equal([code, stdout], [1, `${path}: its contents have changed\n`]);
  assert.match(stderr, /^reatt: [^\n]*1 damaged[^\n]*\n$/);
  const { damages } = JSON.parse((await reatt("index", "verify", ...index, "--json")).stdout);
  assert.equal(damages, [{ path, problem: "its contents have changed" }]);
});

test("wrong usage and bad input end in one line", async () => {
  const out = ["index", ...MODEL, "--corpus", CORPUS, "--out", at("none")];
  await fails(2, /--bits: expected 1, 2, 4, 8 or 32, got "3"/, ...out, "--bits", "3");
  await fails(2, /compressed when they are merged/, ...out, "--bits", "2", "--shard", "1/2");
  await fails(2, /--shard: expected I\/N/, ...out, "--shard", "half");
  await fails(1, /SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX/, ...out, "--shard", "auto");
  await fails(2, /unknown command 'index tend'/, "index", "tend");
  await fails(
    2,
    /--preset/,
    "retrieve",
    ...MODEL,
    "--index",
    at("small"),
    "--question",
    "?",
    "--preset",
    "best",
  );
  await fails(2, /either ids or --ids/, "index", "delete", "--index", at("small"));
  await fails(
    1,
    /ids: .*no such file/,
    "index",
    "delete",
    "--index",
    at("small"),
    "--ids",
    at("no ids"),
  );
  for (const name of ["info", "verify", "compact"])
    await fails(
      1,
      /none: expected an index, got no index\.json/,
      "index",
      name,
      "--index",
      at("none"),
    );
  await fails(
    1,
    /no index\.json/,
    "index",
    "add",
    ...MODEL,
    "--index",
    at("none"),
    "--corpus",
    CORPUS,
  );
});

test("help shows what a command takes", async () => {
  assert.match(
    await prints("index", "merge", "--help"),
    /Usage: reatt index merge \[options\] SHARD\.\.\.\n/,
  );
  assert.match(await prints("index", "--help"), /--shard I\/N\|auto\|auto\/N/);
});

test.run();
