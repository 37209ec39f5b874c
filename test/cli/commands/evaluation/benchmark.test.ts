import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { evaluateRun } from "../../../../src/evaluation/ranking.ts";
import { readQrels, readRun } from "../../../../src/evaluation/trec.ts";
import { readConfig } from "../../../../src/model/config-file.ts";
import { runCaptured } from "../../support.ts";

const MODEL = new URL("../../../../models/reatt-mini", import.meta.url).pathname;
const STORED = (await readConfig(MODEL)).hybrid!;

const test = suite<{ folder: string }>("benchmark");
test.before(async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-dataset-"));
  context.folder = folder;
  const lines = (...objects: object[]) =>
    objects.map((object) => `${JSON.stringify(object)}\n`).join("");
  await mkdir(join(folder, "qrels"));
  await writeFile(
    join(folder, "corpus.jsonl"),
    lines(
      { _id: "paris", title: "Paris", text: "Paris is the capital of France." },
      { _id: "rome", title: "Rome", text: "Rome is the capital of Italy." },
      { _id: "q3", title: "", text: "capital of Italy" },
    ),
  );
  await writeFile(
    join(folder, "queries.jsonl"),
    lines(
      { _id: "q1", text: "capital of France" },
      { _id: "q2", text: "Rome" },
      { _id: "q3", text: "capital of Italy" },
    ),
  );
  await writeFile(
    join(folder, "qrels", "test.tsv"),
    "query-id\tcorpus-id\tscore\nq1\tparis\t1\nq3\trome\t1\n",
  );
  await writeFile(join(folder, "qrels", "dev.tsv"), "query-id\tcorpus-id\tscore\nq2\trome\t1\n");
});
test.after(({ folder }) => rm(folder, { recursive: true }));

/** What the command writes to stdout. */
async function benchmark(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCaptured(["benchmark", ...args]);
  assert.is(code, 0, stderr);
  return stdout;
}

async function fails(code: number, words: RegExp, ...args: string[]): Promise<void> {
  const outcome = await runCaptured(["benchmark", ...args]);
  assert.equal([outcome.stdout, outcome.code], ["", code], outcome.stderr);
  assert.match(outcome.stderr.split("\n").at(-2)!, words);
}

test("a query that is too long is cut, and named", async ({ folder }) => {
  const long = join(folder, "long");
  await cp(join(folder, "qrels"), join(long, "qrels"), { recursive: true });
  await cp(join(folder, "corpus.jsonl"), join(long, "corpus.jsonl"));
  const queries = (await readFile(join(folder, "queries.jsonl"), "utf8")).replace(
    "capital of France",
    `capital of France ${"and more ".repeat(600)}`,
  );
  await writeFile(join(long, "queries.jsonl"), queries);
  const { code, stderr } = await runCaptured(["benchmark", long, "--json"]);
  assert.is(code, 0, stderr);
  assert.match(stderr, "warning: 1 of 2 queries are longer than 512 tokens and are cut: q1\n");
});

test("the model beside BM25 and with it, and nothing left behind", async ({ folder }) => {
  const scratch = join(folder, "scratch");
  await mkdir(scratch);
  process.env.TMPDIR = scratch;
  const report = JSON.parse(
    await benchmark(folder, "--model", MODEL, "--tune", "dev", "--top-k", "2", "--json"),
  );
  const { split, queries, passages, topK, tuned, systems } = report;
  assert.equal(
    { split, queries, passages, topK },
    { split: "test", queries: 2, passages: 3, topK: 2 },
  );
  const [lexical, dense, stored, both] = systems;
  assert.equal(
    systems.map(({ name }: { name: string }) => name),
    ["BM25", "ReAtt", "hybrid", `hybrid, lambda ${tuned.lambda}`],
  );
  const { lambda, k1, b } = stored;
  assert.equal({ lambda, k1, b }, STORED);
  // Passage q3 says what query q3 asks, word for word, and is left out because it is the query.
  assert.is(lexical.measures.mrr, 1);
  for (const { measures } of [dense, stored, both])
    assert.ok(measures["ndcg@10"] > 0 && measures["ndcg@10"] <= 1);
  assert.is(both.lambda, tuned.lambda);
  assert.equal([tuned.split, tuned.queries], ["dev", 1]);
  const values = tuned.tried.map(({ value }: { value: number }) => value);
  assert.is(tuned["ndcg@10"], Math.max(...values));
  assert.is(
    values[tuned.tried.findIndex(({ lambda }: { lambda: number }) => lambda === tuned.lambda)],
    tuned["ndcg@10"],
  );
  assert.not((await readdir(scratch)).some((name) => name.startsWith("reatt-benchmark-")));
});

test("a table without --json, with a third line if the model stores weights", async ({
  folder,
}) => {
  const lines = (await benchmark(folder, "--model", MODEL)).trimEnd().split("\n");
  assert.is(lines.length, 5);
  assert.match(
    lines[4]!,
    /^hybrid +[01]\.\d{4} +[01]\.\d\d-[01]\.\d\d( +[01]\.\d{4}){3} +\d+\.\d$/,
  );
  const plain = join(folder, "plain");
  await cp(MODEL, plain, { recursive: true });
  const { hybrid: _, ...config } = JSON.parse(await readFile(join(MODEL, "config.json"), "utf8"));
  await writeFile(join(plain, "config.json"), JSON.stringify(config));
  const two = (await benchmark(folder, "--model", plain)).trimEnd().split("\n");
  assert.equal(
    two.slice(2).map((line) => line.split(" ")[0]),
    ["BM25", "ReAtt"],
  );
  await rm(plain, { recursive: true });
  assert.is(lines[0], "test: 2 queries, 3 passages, 100 retrieved");
  assert.match(lines[1]!, /^ +ndcg@10 +95 % +mrr@10 +recall@100 +map +ms\/query$/);
  assert.match(lines[2]!, /^BM25 +1\.0000 +1\.00-1\.00( +1\.0000){3} +\d+\.\d$/);
});

test("the stored weights rank as retrieve --hybrid does", async ({ folder }) => {
  const searching = ["--model", MODEL, "--index", join(folder, "index"), "--top-k", "2"];
  const made = await runCaptured([
    ...["index", "--model", MODEL, "--corpus", join(folder, "corpus.jsonl")],
    ...["--out", join(folder, "index")],
  ]);
  assert.is(made.code, 0, made.stderr);
  const retrieve = async (...args: string[]) => {
    const asked = ["--question", "capital of France", "--json"];
    const { code, stdout, stderr } = await runCaptured([
      "retrieve",
      ...searching,
      ...asked,
      ...args,
    ]);
    assert.is(code, 0, stderr);
    return JSON.parse(stdout).results;
  };
  const both = await retrieve("--hybrid");
  assert.equal(
    both,
    await retrieve("--lambda", `${STORED.lambda}`, "--k1", `${STORED.k1}`, "--b", `${STORED.b}`),
  );
  assert.equal(await retrieve(), both);
  assert.is.not((await retrieve("--no-hybrid"))[0].score, both[0].score);
  assert.is.not((await retrieve("--hybrid", "--b", "0"))[0].score, both[0].score);
  const fail = (words: RegExp, ...args: string[]) =>
    runCaptured(["retrieve", ...searching, "--question", "x", ...args]).then((outcome) => {
      assert.is(outcome.code, 2);
      assert.match(outcome.stderr, words);
    });
  await fail(/--b with --no-hybrid/, "--no-hybrid", "--b", "0.5");
  await fail(/--lambda with --no-hybrid/, "--no-hybrid", "--lambda", "1");
});

test("with --tune one more line, and how to search so", async ({ folder }) => {
  const lines = (await benchmark(folder, "--model", MODEL, "--tune", "dev")).trimEnd().split("\n");
  assert.is(lines.length, 7);
  const [, lambda] = /^hybrid, lambda ([\d.]+) +[01]\.\d{4} +\S+( +[01]\.\d{4}){3} +\d+\.\d$/.exec(
    lines[5]!,
  )!;
  assert.match(
    lines[6]!,
    new RegExp(`^lambda ${lambda}: best ndcg@10 on dev \\(1 queries\\), [01]\\.\\d{4}; `),
  );
  assert.ok(lines[6]!.endsWith(`; reatt retrieve --lambda ${lambda} ranks so`));
});

test("several models, each beside the first, with their rankings in files", async ({ folder }) => {
  const other = join(folder, "other");
  await cp(MODEL, other, { recursive: true });
  const models = ["--model", MODEL, "--model", other];
  const runs = join(folder, "runs");
  const { systems, comparisons } = JSON.parse(
    await benchmark(folder, ...models, "--json", "--run", runs),
  );
  const names = ["BM25", "reatt-mini", "reatt-mini, hybrid", "other", "other, hybrid"];
  assert.equal(
    systems.map(({ name }: { name: string }) => name),
    names,
  );
  assert.equal(
    comparisons.map(({ name, against }: Record<string, string>) => [name, against]),
    [
      ["other", "reatt-mini"],
      ["other, hybrid", "reatt-mini, hybrid"],
    ],
  );
  for (const { difference, p, interval } of comparisons)
    assert.equal([difference, p, interval], [0, 1, [0, 0]]); // the same model
  assert.equal((await readdir(runs)).length, 5);
  const run = await readRun(join(runs, "reatt-mini-hybrid.trec"));
  const qrels = await readQrels(join(folder, "qrels", "test.tsv"));
  const { measures } = evaluateRun(run, qrels, undefined, { ownPassages: false });
  assert.equal(measures, systems[2].measures);
  const [head, ...rows] = (await benchmark(folder, "--model", MODEL, "--csv")).trim().split("\n");
  assert.match(head!, /^system,.*ndcg@10,.*,ndcg@10 low,ndcg@10 high,ms\/query$/);
  assert.equal(
    rows.map((row) => row.split(",")[0]),
    ['"BM25"', '"ReAtt"', '"hybrid"'],
  );
  await fails(2, /--index with several models/, folder, ...models, "--index", "x");
  await rm(other, { recursive: true });
});

test("lambda is not tuned on what is measured", async ({ folder }) => {
  await writeFile(join(folder, "qrels", "more.tsv"), "q1\tparis\t1\nq2\trome\t1\n");
  const given = [folder, "--model", MODEL];
  await fails(
    1,
    /^reatt: --tune test: expected queries .* got the same split; choose lambda/,
    ...[...given, "--tune", "test"],
  );
  await fails(
    1,
    /not measured on dev, got query "q2" of both/,
    ...[...given, "--tune", "more", "--split", "dev"],
  );
  await rm(join(folder, "qrels", "more.tsv"));
});

test("the index is made as --index-options say, and searched as the engine's options say", async ({
  folder,
}) => {
  const report = async (...args: string[]) => {
    const { systems } = JSON.parse(await benchmark(folder, "--model", MODEL, "--json", ...args));
    return systems[1].measures;
  };
  const whole = await report("--preset", "exact");
  assert.equal(await report("--index-options", "max-passage-tokens=512"), whole);
  // cut after two tokens, no passage differs from another
  assert.is.not((await report("--index-options", "max-passage-tokens=2")).mrr, whole.mrr);
  const compressed = ["--index-options", "bits=8,max-passage-tokens=512", "--preset", "exact"];
  assert.equal(await report(...compressed), whole);
});

test("wrong usage and missing files", async ({ folder }) => {
  const given = [folder, "--model", MODEL];
  await fails(2, /which dataset/);
  await fails(2, /which dataset/, "--model", MODEL);
  await fails(2, /'--bit'/, ...given, "--index-options", "bit=2");
  await fails(
    2,
    /--bits: expected 1, 2, 4, 8 or 32, got "3"/,
    ...given,
    "--index-options",
    "bits=3",
  );
  await fails(2, /exists already/, ...given, "--index", "x", "--index-options", "bits=2");
  await fails(1, /expected dev or test, got train/, ...given, "--split", "train");
  await fails(1, /corpus\.jsonl/, join(folder, "qrels"), "--model", MODEL);
});

test.run();
