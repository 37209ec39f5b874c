/** Options on the command line: every option of every command, and how options are read. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import { COMMANDS } from "../../src/cli/commands.ts";
import {
  type CliCommand,
  type CommandEntry,
  defineCommand,
  defineFileCommand,
} from "../../src/cli/line/command.ts";
import { takesValue } from "../../src/cli/line/option-text.ts";
import { flagOf } from "../../src/cli/shared/flag-name.ts";
import {
  choice,
  defaultOf,
  flag,
  infoOf,
  integer,
  isRequired,
  number,
  option,
  text,
  valueSchema,
} from "../../src/options/option.ts";
import { temporaryFolder } from "../support/training.ts";
import { runCaptured } from "./support.ts";

interface Received {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What the command was run with; undefined if it was not run. */
  readonly values: Readonly<Record<string, unknown>> | undefined;
  readonly operands: readonly string[];
}

/** Runs a command line with a command that only records what it receives. */
async function receive(
  entry: Omit<CommandEntry, "load">,
  definition: CliCommand,
  ...args: string[]
): Promise<Received> {
  let values: Received["values"];
  let operands: readonly string[] = [];
  const spy = defineCommand({
    ...definition,
    async run(received: Readonly<Record<string, unknown>>, _signal, names) {
      values = received;
      operands = names;
    },
  });
  const parents = COMMANDS.filter(({ name }) => entry.name.startsWith(`${name} `));
  const commands = [...parents, { ...entry, load: async () => spy }];
  const outcome = await runCaptured([...entry.name.split(" "), ...args], { commands });
  return { ...outcome, values, operands };
}

/** A text on the command line and the value that it stands for. */
function sampleOf(schema: z.ZodType): readonly [text: string, value: unknown] {
  const { placeholder = "" } = infoOf(schema);
  const special: Record<string, readonly [string, unknown]> = {
    "I/N|auto|auto/N": ["2/8", { index: 1, count: 8 }],
    "1|2|4|8": ["4", 4],
    "1|2|4|8|32": ["4", 4],
    "DIR|NAME,...": ["some-text", [{ directory: "some-text" }]],
    "FILE[=WEIGHT]": ["some-text", "some-text"],
    CONDITION: ["year >= 2020", { year: { gte: 2020 } }],
    "K,K,...": ["10,3,10", [3, 10]],
    "NAME,NAME": ["crops,titles", ["crops", "titles"]],
    "NAME,...": ["some-text", ["some-text"]],
    "SITE,...": ["https://example.org", ["https://example.org"]],
    URL: ["https://example.org", "https://example.org"],
  };
  if (special[placeholder]) return special[placeholder];
  const value = valueSchema(schema);
  if (value instanceof z.ZodEnum) return [String(value.options.at(-1)), value.options.at(-1)];
  if (value instanceof z.ZodUnion) return ["0.5", 0.5];
  if (!(value instanceof z.ZodNumber)) return ["some-text", "some-text"];
  return value.isInt ? ["17", 17] : ["0.75", 0.75];
}

const isText = (schema: unknown): boolean =>
  schema instanceof z.ZodString || (schema instanceof z.ZodArray && isText(schema.element));

for (const entry of COMMANDS) {
  if (!entry.load) continue;
  const definition = await entry.load();
  const options = Object.entries(definition.options).filter(
    ([, schema]) => infoOf(schema).flag !== false,
  );
  /** A store takes the place of a folder. */
  const isReplaced = (name: string, by: string): boolean =>
    by === "store" && name === ("out" in definition.options ? "out" : "index");
  /** Values for the required options, except for one. */
  const needed = (except: string): string[] =>
    options.flatMap(([name, schema]) =>
      name !== except && !isReplaced(name, except) && isRequired(schema)
        ? [`--${flagOf(name)}`, sampleOf(schema)[0]]
        : [],
    );
  const received = (name: string, ...args: string[]) =>
    receive(entry, definition, ...needed(name), ...args);

  async function fails(message: RegExp, name: string, ...args: string[]): Promise<void> {
    const { code, stderr, values } = await received(name, ...args);
    assert.match(stderr, message);
    assert.match(stderr, /^reatt: [^\n]+; reatt (--help|help [a-z ]+) shows the usage\n$/);
    assert.equal([code, values], [2, undefined]);
  }

  for (const [name, schema] of options) {
    const own = `--${flagOf(name)}`;

    test(`${entry.name} ${own} reaches the command`, async () => {
      const [given, value] = takesValue(schema) ? sampleOf(schema) : [undefined, true];
      const args = given === undefined ? [own] : [own, given];
      const { code, stderr, values } = await received(name, ...args);
      assert.is(code, 0, stderr);
      const { repeated = false } = infoOf(schema);
      assert.equal(values![name], repeated ? [value] : value);
      if (repeated)
        assert.equal((await received(name, ...args, ...args)).values![name], [value, value]);
      else await fails(/given twice/, name, ...args, ...args);
      if (!isRequired(schema))
        assert.equal(
          (await receive(entry, definition, ...needed(""))).values![name],
          definition.takesFile ? undefined : defaultOf(schema), // the library has the defaults
        );
      else await fails(new RegExp(`${own} .* is missing`), name);
    });

    if (takesValue(schema))
      test(`${entry.name} ${own} needs a value`, async () => {
        await fails(/argument missing/, name, own);
        await fails(new RegExp(`${own} .* is missing`), name, own, own);
      });

    // A condition has messages of its own (test/retrieval/where), any text is a folder or a file.
    const isAnyText = ["CONDITION", "DIR|NAME,...", "FILE[=WEIGHT]"];
    const isChecked = !isAnyText.includes(infoOf(schema).placeholder ?? "");
    if (!isText(valueSchema(schema)) && takesValue(schema) && isChecked)
      test(`${entry.name} ${own} rejects other values`, async () => {
        await fails(new RegExp(`${own}: expected .*, got "#"`), name, own, "#");
      });

    if (!takesValue(schema) && defaultOf(schema) !== false)
      test(`${entry.name} ${own} can be switched off`, async () => {
        assert.is((await received(name, `--no-${flagOf(name)}`)).values![name], false);
        await fails(/given twice/, name, own, `--no-${flagOf(name)}`);
      });
  }

  test(`${entry.name}: help lists every option that has a flag`, async () => {
    const listed = [...options.map(([name]) => name), ...(definition.takesFile ? ["options"] : [])];
    for (const line of [
      ["help", ...entry.name.split(" ")],
      [...entry.name.split(" "), "--help"],
    ]) {
      const { code, stdout } = await runCaptured(line);
      assert.is(code, 0);
      const flags = [...stdout.matchAll(/^ {2}--(?:\[no-\])?([a-z0-9-]+)/gm)].map(([, one]) => one);
      assert.equal(flags.sort(), listed.map(flagOf).sort());
      assert.ok(stdout.includes(`Usage: reatt ${entry.name} [options]`));
      assert.match(stdout, /\nExample:\n {2}reatt /);
      assert.ok(stdout.split("\n").every((shown) => shown.length <= 120));
    }
  });

  test(`${entry.name}: an unknown option`, async () => {
    await fails(/unknown option '--nothing'/, "", "--nothing", "1");
  });
}

const ENTRY = { name: "test", summary: "Test." };
const TEST = defineCommand({
  options: {
    model: option(text(), { help: "a folder", placeholder: "DIR" }),
    note: option(text().optional(), { help: "a note", placeholder: "TEXT" }),
    topK: option(integer(1).default(10), { help: "how many", group: "Numbers" }),
    share: option(number({ from: 0.1, to: 1 }).optional(), {
      help: "how much",
      defaultText: "all",
      group: "Numbers",
    }),
    side: option(choice("head", "layers").optional(), { help: "which" }),
    negatives: option(flag().default(true), { help: "use negatives" }),
    quiet: option(integer(0).default(3), { help: "of the library", flag: false }),
    json: option(flag().default(false), { help: "as JSON" }),
  },
  example: "reatt test --model m",
  async run() {},
});
const got = async (...args: string[]) =>
  (await receive(ENTRY, TEST, "--model", "m", ...args)).values;
async function refused(message: RegExp, ...args: string[]): Promise<void> {
  const { code, stderr, values } = await receive(ENTRY, TEST, ...args);
  assert.match(stderr, message);
  assert.match(stderr, /^reatt: [^\n]+\n$/);
  assert.equal([code, values], [2, undefined]);
}

test("values are read, and defaults filled in", async () => {
  const absent = { note: undefined, share: undefined, side: undefined };
  const defaults = { topK: 10, negatives: true, json: false, quiet: 3 };
  assert.equal(await got(), { ...absent, ...defaults, model: "m" });
  assert.equal(
    await got("--json", "--top-k=3", "--note", "", "--share", ".5", "--side", "layers"),
    {
      ...{ model: "m", note: "", topK: 3, share: 0.5, side: "layers", negatives: true, json: true },
      quiet: 3,
    },
  );
  assert.is((await got("--note", "--what"))!.note, "--what");
});

test("wrong usage is one line", async () => {
  await refused(/^reatt: --model DIR is missing;/);
  await refused(/unknown option '--modle' \(Did you mean --model\?\)/, "--modle", "m");
  await refused(/unknown option '--json=1'/, "--model", "m", "--json=1");
  await refused(/too many arguments/, "--model", "m", "more");
  await refused(/--model DIR is missing/, "--model", "--json");
  await refused(/given twice/, "--model", "m", "--no-negatives", "--negatives");
});

test("numbers are in their range", async () => {
  const model = ["--model", "m"];
  for (const value of ["0", "1.5", "1e3", "x", "", " 3", "-1", "99999999999999999999"])
    await refused(
      new RegExp(`--top-k: expected a whole number from 1 on, got "${value.trim() && value}"`),
      ...[...model, "--top-k", value],
    );
  for (const value of ["0", "1.01", "", "-1", "Infinity", "much"])
    await refused(/--share: expected a number from 0\.1 to 1, got/, ...model, "--share", value);
});

test("help is derived from the table", async () => {
  const { stdout } = await receive(ENTRY, TEST, "--help");
  assert.is(
    stdout,
    `Usage: reatt test [options]

Test.

Options:
  --model DIR         a folder (required)
  --note TEXT         a note
  --side head|layers  which
  --[no-]negatives    use negatives (default: true)
  --json              as JSON
  -h, --help          show this help

Numbers:
  --top-k N           how many (default: 10)
  --share X           how much (default: all)

Example:
  reatt test --model m
`,
  );
});

test("a file gives options, those without a flag too; flags come before it", async () => {
  await using folder = temporaryFolder();
  const file = join(folder.path, "options.json");
  const definition = defineFileCommand({ ...TEST, run: async () => {} });
  const given = async (content: string, ...args: string[]) => {
    writeFileSync(file, content);
    return receive(ENTRY, definition, "--options", file, ...args);
  };
  const { values } = await given('{"model": "m", "topK": 3, "quiet": 7}', "--top-k", "5");
  assert.equal(values, { model: "m", topK: 5, quiet: 7 });
  for (const [content, message] of [
    [
      '{"topk": 3}',
      /options\.json: expected names among model, .* got "topk"; did you mean "topK"/,
    ],
    ['{"topK": 0}', /options\.json, topK: expected a whole number from 1 on, got 0;/],
    ['{"json": true}', /options\.json: expected names among .*, got "json";/],
    ["[1]", /options\.json: expected an object, got /],
    ["{", /options\.json: expected options as a JSON object, got /],
    [
      "[".repeat(1_000),
      /options\.json: expected JSON with at most 100 levels of nesting, got more;/,
    ],
    [" ".repeat(1_000_001), /options\.json: expected at most [^,]+, got more;/],
  ] as const) {
    const { code, stderr, values: none } = await given(content);
    assert.match(stderr, message);
    assert.match(stderr, /^reatt: [^\n]+\n$/);
    assert.equal([code, none], [1, undefined]);
  }
  const missing = await receive(ENTRY, definition, "--options", join(folder.path, "none.json"));
  assert.match(missing.stderr, /none\.json: expected options as a JSON object, got ENOENT/);
  assert.match((await given("{}")).stderr, /^reatt: --model DIR is missing;/);
  assert.match(
    (await given("{}", "--quiet", "1")).stderr,
    /^reatt: --quiet is no flag: give \{"quiet": \.\.\.\} in --options FILE\.json; reatt help test/,
  );
});

test("train and adapt show few flags", async () => {
  for (const [command, most] of [
    ["train", 24],
    ["adapt", 28],
  ] as const) {
    const { stdout } = await runCaptured([command, "--help"]);
    const flags = stdout.match(/^ {2}(-h, )?--/gm)!.length;
    assert.ok(flags <= most, `${command}: ${flags}`);
  }
});

test("a command may take operands, before, between and after its options", async () => {
  const definition = defineCommand({
    options: { out: option(text(), { help: "where", placeholder: "DIR" }) },
    operands: { placeholder: "PART...", help: "what" },
    example: "reatt test --out whole a b",
    async run() {},
  });
  const received = await receive(ENTRY, definition, "a", "--out", "b", "c", "--", "--d");
  assert.equal([received.values, received.operands], [{ out: "b" }, ["a", "c", "--d"]]);
  const { stdout } = await receive(ENTRY, definition, "--help");
  assert.match(stdout, /Usage: reatt test \[options\] PART\.\.\.\n.*\n {2}PART +what\n/s);
});

test.run();
