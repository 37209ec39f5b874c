/** The commands with the embedded model and a small corpus: output, streams and exit codes. */

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { defineCommand } from "../../src/cli/line/command.ts";
import { runCaptured } from "./support.ts";

const MODEL = "models/reatt-mini";
const folder = mkdtempSync(join(tmpdir(), "reatt-run-"));
const at = (...names: string[]) => join(folder, ...names);
test.after(() => rmSync(folder, { recursive: true }));

const reatt = (...args: string[]) => runCaptured(args);

/** One line on stderr, nothing on stdout, no stack. */
async function fails(code: number, message: RegExp, ...args: string[]): Promise<void> {
  const outcome = await reatt(...args);
  assert.match(outcome.stderr, message);
  assert.match(outcome.stderr, /^reatt: [^\n]+\n$/);
  assert.equal([outcome.stdout, outcome.code], ["", code]);
}

const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
const parseLines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const PASSAGES = [
  {
    _id: "lion",
    title: "Lion",
    text: "The lion is a large cat that lives in Africa and in India.",
  },
  { _id: "bark", title: "Dog", text: "Dogs bark at night. They sleep by day." },
  { _id: "7", title: "", text: "The Rhine flows from the Alps to the North Sea." },
];
const QUESTIONS = [
  { _id: "q1", text: "Where does the lion live?" },
  { id: "q2", question: "Where does the Rhine flow?" },
];
writeFileSync(at("corpus.jsonl"), jsonLines(PASSAGES));
writeFileSync(at("questions.jsonl"), jsonLines(QUESTIONS));
const ask = ["--index", at("index")]; // the default model
const lion = ["--question", "Where does the lion live?"];

test("a command that saves and returns when it is interrupted ends as interrupted", async () => {
  const abort = new AbortController();
  const save = defineCommand({
    options: {},
    example: "reatt save",
    async run() {
      abort.abort();
    },
  });
  const commands = [{ name: "save", summary: "Save.", load: async () => save }];
  assert.is((await runCaptured(["save"], { commands, signal: abort.signal })).code, 130);
});

test("help and version go to stdout", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const general = await reatt("--help");
  for (const name of ["index", "retrieve", "answer"]) {
    assert.match(general.stdout, `\n  ${name}`);
    assert.match((await reatt(name, "--help")).stdout, `Usage: reatt ${name} [options]`);
  }
  assert.equal([general.stderr, general.code], ["", 0]);
  assert.match(general.stdout, /\nExamples:\n {2}reatt index .*\n {2}reatt answer /);
  assert.equal(await reatt("help"), general);
  assert.equal(await reatt(), general);
  assert.equal(await reatt("help", "index", "add"), await reatt("index", "add", "--help"));
  assert.equal(await reatt("-v"), await reatt("--version"));
  assert.equal(await reatt("--version"), { stdout: `${version}\n`, stderr: "", code: 0 });
});

test("wrong usage ends with 2", async () => {
  await fails(2, /unknown command 'fly'/, "fly");
  await fails(2, /unknown command 'answr' \(Did you mean answer\?\)/, "answr");
  await fails(2, /unknown command 'answr' \(Did you mean answer\?\)/, "help", "answr");
  await fails(2, /unknown command 'index ad' \(Did you mean index add\?\)/, "index", "ad");
  await fails(2, /unknown command 'evaluate it'/, "evaluate", "it", "--help");
  await fails(2, /unknown option '--quesion' \(Did you mean --question\?\)/, "answer", "--quesion");
  await fails(
    2,
    /--corpus .* is missing; reatt help index shows the usage/,
    "index",
    "--model",
    MODEL,
    "--out",
    at("x"),
  );
  await fails(2, /one of QUESTION and --queries/, "answer", ...ask);
  await fails(
    2,
    /one of QUESTION/,
    "retrieve",
    ...ask,
    ...lion,
    "--queries",
    at("questions.jsonl"),
  );
  await fails(2, /one question is needed: leave --question out/, "answer", ...ask, ...lion, "Who?");
  await fails(2, /--top-k/, "retrieve", ...ask, ...lion, "--top-k", "0");
});

test("a corpus is indexed, with nothing on stdout", async () => {
  const args = ["--corpus", at("corpus.jsonl"), "--out", at("index")];
  const { code, stdout, stderr } = await reatt("index", "--model", MODEL, ...args);
  assert.equal([code, stdout], [0, ""]);
  assert.match(stderr, /Indexed 3 passages, \d+ tokens, in [\d.]+ s/);
});

test("retrieve prints JSON lines and writes a run file", async () => {
  const questions = ["--queries", at("questions.jsonl"), "--top-k", "2"];
  const run = ["--run", at("out.trec"), "--explain"];
  const { code, stdout } = await reatt("retrieve", ...ask, ...questions, "--json", ...run);
  assert.is(code, 0);
  const results = parseLines(stdout);
  assert.equal(
    results.map(({ id }) => id),
    ["q1", "q2"],
  );
  const runLines: string[] = [];
  for (const result of results) {
    assert.equal(Object.keys(result), ["id", "results"]);
    assert.is(result.results.length, 2);
    for (const [i, hit] of result.results.entries()) {
      assert.equal(Object.keys(hit), ["id", "score", "scores"]);
      assert.ok(hit.score > 0 && hit.score < 1);
      runLines.push(`${result.id} Q0 ${hit.id} ${i + 1} ${hit.scores.ranking} reatt\n`);
    }
  }
  assert.is(readFileSync(at("out.trec"), "utf8"), runLines.join(""));
  assert.is((await reatt("retrieve", ...ask, ...questions, "--run", at("out.trec"))).stdout, "");
});

test("a run leaves out the passage of a query, and names a question that is too long", async () => {
  const asked = [
    { _id: "lion", text: "Where does the lion live?" },
    { _id: "long\u001b", text: "why ".repeat(600) },
    { _id: "q3", text: "Where does the lion live?" },
  ];
  writeFileSync(at("own.jsonl"), jsonLines(asked));
  const ranked = async (...args: string[]) => {
    const given = ["--queries", at("own.jsonl"), "--top-k", "2", "--run", at("own.trec"), ...args];
    const { code, stderr } = await reatt("retrieve", ...ask, ...given);
    assert.is(code, 1);
    assert.match(stderr, /^question long : .*at most 512 tokens/m);
    assert.match(stderr, /got 1 of 3 that it cannot/);
    const rows = readFileSync(at("own.trec"), "utf8").trim().split("\n");
    return rows.map((row) => row.split(" ").slice(0, 4).join(" "));
  };
  const [first, second, third, fourth, ...others] = await ranked();
  assert.match(first!, /^lion Q0 (?!lion)\S+ 1$/);
  assert.match(second!, /^lion Q0 (?!lion)\S+ 2$/);
  assert.is(third, "q3 Q0 lion 1");
  assert.match(fourth!, /^q3 Q0 \S+ 2$/);
  assert.equal(others, []);
  assert.is((await ranked("--own-passages"))[0], "lion Q0 lion 1");
});

test("retrieve ranks documents, with BM25, and within a list of ids", async () => {
  const passages = [
    ...PASSAGES,
    { _id: "cub", title: "Lion", text: "A lion's young are called cubs." },
  ];
  writeFileSync(at("titles.jsonl"), jsonLines(passages));
  const made = await reatt(
    "index",
    "--model",
    MODEL,
    "--corpus",
    at("titles.jsonl"),
    "--out",
    at("titles"),
  );
  assert.is(made.code, 0);
  /** With raw scores. */
  const results = async (...args: string[]) => {
    const { stdout, code } = await reatt(
      "retrieve",
      "--model",
      MODEL,
      "--index",
      at("titles"),
      lion[1]!,
      "--json",
      "--explain",
      ...(args.includes("--lambda") ? [] : ["--no-hybrid"]),
      ...args,
    );
    assert.is(code, 0);
    return parseLines(stdout)[0].results.map(
      ({ scores, ...hit }: { scores: { ranking: number } }) => ({ ...hit, score: scores.ranking }),
    );
  };
  const ids = async (...args: string[]) =>
    (await results(...args)).map(({ id }: { id: string }) => id);

  const documents = await results("--granularity", "document", "--top-k", "9");
  assert.equal(documents.map(({ document }: { document: string }) => document).sort(), [
    "7",
    "Dog",
    "Lion",
  ]);
  assert.is(documents[0].id, "lion");
  assert.equal(
    documents,
    (await results()).flatMap(({ id, score }: { id: string; score: number }) =>
      id === "cub" ? [] : [{ document: { lion: "Lion", bark: "Dog" }[id] ?? id, id, score }],
    ),
  );

  const dense = new Map(
    (await results()).map(({ id, score }: { id: string; score: number }) => [id, score]),
  );
  const [lexical, both] = [await results("--lambda", "0"), await results("--lambda", "2")];
  const bm25 = new Map<string, number>(
    lexical.map(({ id, score }: { id: string; score: number }) => [id, score]),
  );
  assert.equal(
    [bm25.get("lion")! > bm25.get("cub")!, bm25.get("cub")! > 0, bm25.get("7")],
    [true, true, 0],
  );
  assert.is(both.length, 4);
  for (const { id, score } of both) assert.is(score, bm25.get(id)! + 2 * (dense.get(id) as number));

  writeFileSync(at("ids.txt"), "bark\nunknown\r\ncub\n");
  assert.equal((await ids("--ids", at("ids.txt"))).sort(), ["bark", "cub"]);
  assert.equal(await ids("--ids", at("ids.txt"), "--lambda", "0.1", "--granularity", "document"), [
    "cub",
    "bark",
  ]);
  writeFileSync(at("unknown.txt"), "unknown\n");
  const ask = ["--model", MODEL, "--index", at("titles"), ...lion];
  await fails(
    1,
    /unknown\.txt: expected ids of passages in \S+titles, got none/,
    "retrieve",
    ...ask,
    "--ids",
    at("unknown.txt"),
  );
  await fails(2, /--lambda: expected a number/, "retrieve", ...ask, "--lambda", "much");
  await fails(
    2,
    /--granularity: expected passage, document/,
    "retrieve",
    ...ask,
    "--granularity",
    "page",
  );
});

test("answer retrieves as retrieve does, with the same options", async () => {
  const given = ["--model", MODEL, "--index", at("titles"), ...lion, "--top-k", "2", "--json"];
  const read = async (command: string, ...args: string[]) => {
    const { stdout, stderr, code } = await reatt(command, ...given, ...args);
    assert.is(code, 0, stderr);
    const [{ results, passages = results }] = parseLines(stdout);
    return passages.map(({ id, score }: { id: string; score: number }) => ({ id, score }));
  };
  const searches = [
    ["--lambda", "0.5"],
    ["--lambda", "0.5", "--k1", "2", "--b", "1"],
    ["--granularity", "document"],
    ["--ids", at("ids.txt")],
    ["--preset", "exact"],
  ];
  const found = [];
  for (const args of searches) {
    found.push(JSON.stringify(await read("retrieve", "--hybrid", ...args)));
    assert.is(JSON.stringify(await read("answer", ...args)), found.at(-1), args.join(" "));
  }
  assert.is(new Set(found).size, found.length); // each option changes the result
  const alone = JSON.stringify(await read("answer", "--no-hybrid"));
  assert.is(alone, JSON.stringify(await read("retrieve", "--no-hybrid")));
  assert.is.not(alone, JSON.stringify(await read("answer")));
  await fails(2, /--k1 with --no-hybrid/, "answer", ...given, "--k1", "2", "--no-hybrid");
});

test("a lowest score leaves out passages, alone and before reading", async () => {
  for (const command of ["retrieve", "answer"]) {
    const all = await reatt(command, ...ask, ...lion, "--json", "--top-k", "3");
    const found = JSON.parse(all.stdout);
    const { score } = (found.results ?? found.passages)[1];
    const some = await reatt(command, ...ask, ...lion, "--json", "--min-score", String(score));
    const left = JSON.parse(some.stdout);
    assert.is((left.results ?? left.passages).length, 2);
    const none = await reatt(command, ...ask, ...lion, "--json", "--min-score", "1000");
    assert.equal(JSON.parse(none.stdout).results ?? JSON.parse(none.stdout).passages, []);
  }
});

test("answer prints JSON lines", async () => {
  const { code, stdout } = await reatt(
    ...["answer", ...ask, ...lion, "--top-k", "3", "--read-top-k", "2", "--json"],
  );
  assert.is(code, 0);
  const [reply] = parseLines(stdout);
  assert.equal(Object.keys(reply), [
    "id",
    "answer",
    "tokenIds",
    "confidence",
    "abstained",
    "source",
    "evidence",
    "passages",
  ]);
  assert.type(reply.answer, "string");
  assert.ok(reply.tokenIds.every(Number.isInteger));
  assert.ok(reply.confidence > 0 && reply.confidence <= 1);
  assert.is(reply.abstained, false);
  assert.is(reply.passages.length, 3);
  assert.ok(Math.abs(reply.passages[0].attention + reply.passages[1].attention - 1) < 1e-5);
  assert.is(reply.passages[2].attention, 0);
  for (const { id, score, span, text } of reply.passages) {
    assert.is(text, PASSAGES.find(({ _id }) => _id === id)!.text);
    assert.type(score, "number");
    if (span) assert.is(text.slice(span.start, span.end).toLowerCase(), reply.answer.toLowerCase());
  }
});

test("without --json the output is for people", async () => {
  const answer = await reatt("answer", ...ask, ...lion);
  assert.match(
    answer.stdout,
    /^Where does the lion live\?\n\[.*\] \(confidence \d+ %\)\n {3}1\. .*: \d+ %\n/,
  );
  assert.match(answer.stdout, /\d ms\n/);
  const retrieve = await reatt("retrieve", ...ask, ...lion);
  assert.match(retrieve.stdout, /^Where does the lion live\?\n {3}1\. \d/);
  assert.equal([answer.stderr, retrieve.stderr], ["", ""]);
});

test("FORCE_COLOR marks the answer in bold", async () => {
  const before = process.env.FORCE_COLOR;
  process.env.FORCE_COLOR = "1";
  try {
    const { stdout } = await reatt("answer", ...ask, ...lion);
    assert.ok(stdout.startsWith("Where does the lion live?\n\x1b[1m"), stdout);
    assert.match(stdout, "\x1b[22m (confidence");
  } finally {
    if (before === undefined) delete process.env.FORCE_COLOR;
    else process.env.FORCE_COLOR = before;
  }
});

test("bad input ends with 1 and one line", async () => {
  writeFileSync(at("bad.jsonl"), '{"_id":"b"\n');
  const index = (corpus: string) => [
    "index",
    "--model",
    MODEL,
    "--corpus",
    corpus,
    "--out",
    at("none"),
  ];
  await fails(1, /bad\.jsonl:1: expected one JSON object/, ...index(at("bad.jsonl")));
  await fails(1, /missing\.jsonl: .*no such file/, ...index(at("missing.jsonl")));
  assert.not(existsSync(at("none")));
  await fails(1, /--question: .*no text/, "answer", ...ask, "--question", " ");
  for (const command of ["retrieve", "answer"])
    await fails(
      1,
      /expected at most 512 tokens/,
      command,
      ...ask,
      "--question",
      "why\n".repeat(600),
    );
  await fails(1, /none/, "answer", "--model", MODEL, "--index", at("none"), ...lion);
  await fails(1, /config\.json/, "answer", "--model", folder, "--index", at("index"), ...lion);
});

test("a repeated id costs no record, and one line says how many", async () => {
  writeFileSync(at("twice.jsonl"), jsonLines([PASSAGES[0], PASSAGES[0]]));
  const corpus = ["--corpus", at("twice.jsonl"), "--out", at("once")];
  const { code, stderr } = await reatt("index", "--model", MODEL, ...corpus);
  assert.is(code, 0, stderr);
  assert.match(stderr, /twice\.jsonl: expected an id of its own for each record, got 1 that an/);
  assert.match(stderr, /Indexed 2 passages, /);
});

test("a run file that cannot be written whole leaves the old one", async () => {
  writeFileSync(at("old.trec"), "old");
  writeFileSync(at("spaces.jsonl"), jsonLines([QUESTIONS[0], { id: "b c", question: "who?" }]));
  const args = ["--queries", at("spaces.jsonl"), "--run", at("old.trec")];
  const { code, stderr } = await reatt("retrieve", ...ask, ...args);
  assert.is(code, 1);
  assert.match(stderr, /ids without white space/);
  assert.is(readFileSync(at("old.trec"), "utf8"), "old");
  assert.not(readdirSync(folder).some((name) => name.endsWith(".new")));
});

for (const name of ["reatt-v11", "reatt-v10-tied"]) {
  const reference = resolve("../shared/reference", name);
  const check = existsSync(reference) ? test : test.skip;
  check(`${name}: what is printed is what the authors' release finds and answers`, async () => {
    const model = mkdtempSync(at("model-"));
    for (const file of ["config.json", "model.safetensors"]) {
      symlinkSync(join(reference, file), join(model, file));
    }
    symlinkSync(resolve("test/fixtures/t5/spiece.model"), join(model, "spiece.model"));
    const expected = JSON.parse(readFileSync(join(reference, "expected.json"), "utf8"));
    const length = String(expected.max_length);
    const index = ["--model", model, "--max-passage-tokens", length, "--out", join(model, "index")];
    assert.is(
      (await reatt("index", ...index, "--corpus", join(reference, "corpus.jsonl"))).code,
      0,
    );
    const queries = ["--queries", join(reference, "queries.jsonl"), "--json"];
    const asking = ["--model", model, "--index", join(model, "index"), ...queries];
    const read = `${expected.doc_topk}`;
    const reading = ["--max-input-tokens", length, "--read-top-k", read, "--top-k", read];

    const retrieved = parseLines((await reatt("retrieve", ...asking, "--top-k", "10")).stdout);
    const answered = parseLines(
      (await reatt("answer", ...asking, ...reading, "--max-answer-tokens", "12")).stdout,
    );
    for (const [i, query] of expected.queries.entries()) {
      assert.is(retrieved[i].id, query.id);
      for (const [rank, [passage, sum]] of query.official_top10.entries()) {
        const { id, score } = retrieved[i].results[rank];
        assert.is(id, passage);
        assert.ok(Math.abs(score * query.token_ids.length - sum) < 1e-3);
      }
      // The reference begins with the start token.
      assert.equal(answered[i].tokenIds, query.greedy_token_ids.slice(1));
      assert.equal(
        answered[i].passages.map(({ id }: { id: string }) => id),
        query.read_doc_ids,
      );
    }
  });
}

test.run();
