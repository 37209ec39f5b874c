import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { readJsonLines } from "../../../src/io/json/json-lines.ts";
import { assertLinear } from "../../support/linear-time.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-jsonl-"));
const file = join(folder, "lines");
test.after(() => rmSync(folder, { recursive: true }));

async function read(content: string | Uint8Array): Promise<[number, unknown][]> {
  writeFileSync(file, content);
  const lines: [number, unknown][] = [];
  for await (const { line, value } of readJsonLines(file)) lines.push([line, value]);
  return lines;
}

async function refused(content: string | Uint8Array, message: RegExp): Promise<void> {
  const error = await read(content).then(
    () => assert.unreachable("was read"),
    (reason: unknown) => reason,
  );
  assert.instance(error, InputError);
  assert.match((error as Error).message, message);
  assert.not.match((error as Error).message, /\n/);
}

test("lines are numbered; byte order mark, CRLF and blank lines are accepted", async () => {
  const expected = [
    [1, { a: 1 }],
    [4, "é"],
    [6, null],
  ];
  const content = '\ufeff{"a":1}\r\n\r\n  \n"é"\n\nnull';
  assert.equal(await read(content), expected);
  assert.equal(await read(`${content}\n`), expected);
});

test("a line of brackets is rejected in little memory, and a time that grows with it", async () => {
  const levels = /lines:1: expected JSON with at most 100 levels of nesting/;
  await assertLinear((count) => refused("[".repeat(count), levels), 5_000_000);
  const values = /at most 500000 values, got more/;
  await assertLinear((count) => refused(`[${"{},".repeat(count)}{}]`, values), 2_000_000);
  assert.ok(process.memoryUsage().rss < 1e9);
});

test("brackets inside strings do not count", async () => {
  const value = { a: `${"[".repeat(200)}"${"{\\".repeat(200)}`, b: ["\\", { c: "]" }] };
  assert.equal(await read(JSON.stringify(value)), [[1, value]]);
  const json = fc.json({ maxDepth: 5 });
  await fc.assert(
    fc.asyncProperty(json, async (text) => assert.equal(await read(text), [[1, JSON.parse(text)]])),
  );
});

test("gzip is recognised by its bytes and may have several members", async () => {
  const members = Buffer.concat([gzipSync('{"a":1}\n{"b"'), gzipSync(":2}\n")]);
  assert.equal(await read(members), [
    [1, { a: 1 }],
    [2, { b: 2 }],
  ]);
});

test("written values are read back, plain and gzip, for all chunk borders", async () => {
  const long = fc.string({ unit: "binary", maxLength: 3 }).map((value) => value.repeat(20_000));
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.json().map((text) => JSON.parse(text)),
          long,
        ),
        { maxLength: 8 },
      ),
      async (values) => {
        const content = values.map((value) => `${JSON.stringify(value)}\n`).join("");
        const expected = values.map((value, index) => [
          index + 1,
          JSON.parse(JSON.stringify(value)),
        ]);
        assert.equal(await read(content), expected);
        assert.equal(await read(gzipSync(content)), expected);
      },
    ),
    { numRuns: 40 },
  );
});

test("any bytes are read or rejected in one line", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.boolean(), async (bytes, gzip) => {
      const header = gzip ? gzipSync("[1]\n").subarray(0, 12) : new Uint8Array();
      await read(Buffer.concat([header, bytes])).catch((error: unknown) => {
        assert.instance(error, InputError);
        assert.not.match((error as Error).message, /\n/);
      });
    }),
    { numRuns: 300 },
  );
});

test("bad lines are named", async () => {
  await refused('{"a":1}\n\n{"b":', /lines:3: expected one JSON object, got "\{\\"b\\":"/);
  await refused(Buffer.from([0x31, 0x0a, 0x22, 0xff, 0x22]), /lines:2: expected UTF-8/);
  await refused(Buffer.alloc(65 * 2 ** 20, "x"), /lines:1: expected a line of at most 64 MiB/);
});

test("damaged gzip is named", async () => {
  const whole = gzipSync(
    Array.from({ length: 20_000 }, (_, index) => `{"id":${index}}\n`).join(""),
  );
  await refused(whole.subarray(0, whole.length - 1000), /lines:\d{4,}: expected a whole gzip file/);
  const damaged = Buffer.from(whole);
  damaged.fill(0xff, 5000, 5050);
  await refused(damaged, /lines:\d+: expected/);
});

test("a missing file and a directory are named", async () => {
  for (const [path, message] of [
    [join(folder, "missing"), /missing: .*no such file/],
    [folder, /a directory/],
  ] as const) {
    const error = await readJsonLines(path)
      .next()
      .catch((reason: unknown) => reason);
    assert.instance(error, InputError);
    assert.match((error as Error).message, message);
  }
});

test("reading with an aborted signal throws the reason", async () => {
  writeFileSync(file, "1\n");
  const reason = new Error("enough");
  const lines = readJsonLines(file, AbortSignal.abort(reason));
  const error = await lines.next().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.is(error, reason);
});

test("reading can be left early and aborted", async () => {
  writeFileSync(file, "1\n".repeat(500_000));
  for await (const { line } of readJsonLines(file)) if (line === 3) break;
  const abort = new AbortController();
  let lines = 0;
  const error = await (async () => {
    for await (const { line } of readJsonLines(file, abort.signal)) {
      lines = line;
      abort.abort();
    }
  })().catch((reason: unknown) => reason);
  assert.is((error as Error).name, "AbortError");
  assert.ok(lines < 500_000);
});

test.run();
