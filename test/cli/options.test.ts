import { test } from "uvu";
import * as assert from "uvu/assert";
import { defineCommand, UsageError } from "../../src/cli/options.ts";

const { signal } = new AbortController();

/** What a command with one option of each kind gets from these arguments. */
async function run(...args: string[]): Promise<unknown> {
  let got: unknown;
  await command((values) => {
    got = { ...values };
  }).run(args, signal);
  return got;
}

function command(run: (values: object) => void): ReturnType<typeof defineCommand> {
  return defineCommand({
    name: "test",
    summary: "Tests.",
    options: {
      model: { kind: "text", placeholder: "DIR", help: "a folder", required: true },
      note: { kind: "text", placeholder: "TEXT", help: "a note" },
      "top-k": { kind: "integer", help: "how many", default: 10, minimum: 1 },
      limit: { kind: "integer", help: "how long", minimum: 4 },
      json: { kind: "flag", help: "as JSON" },
    },
    async run(values) {
      run(values);
    },
  });
}

async function refused(args: string[], message: string | RegExp): Promise<void> {
  const error = await run(...args).then(
    () => assert.unreachable("was accepted"),
    (reason: unknown) => reason,
  );
  assert.instance(error, UsageError);
  if (typeof message === "string") assert.is((error as Error).message, message);
  else assert.match((error as Error).message, message);
  assert.not.match((error as Error).message, /\n/);
}

test("options are parsed, and defaults filled in", async () => {
  const absent = { note: undefined, limit: undefined };
  assert.equal(await run("--model", "m"), { ...absent, model: "m", "top-k": 10, json: false });
  assert.equal(await run("--json", "--model=m", "--top-k", "3", "--limit", "4", "--note", ""), {
    model: "m",
    note: "",
    "top-k": 3,
    limit: 4,
    json: true,
  });
});

test("a choice that may stand alone does, wherever it stands", async () => {
  const chosen = async (...args: string[]): Promise<unknown> => {
    let got: unknown;
    const choice = {
      kind: "choice",
      choices: ["head", "layers"],
      alone: "head",
      help: "which",
    } as const;
    const flag = { kind: "flag", help: "as JSON" } as const;
    const command = defineCommand({
      name: "test",
      summary: "Tests.",
      options: { side: choice, json: flag },
      async run({ side }) {
        got = side;
      },
    });
    assert.match(command.help(), "--side [head|layers]");
    await command.run(args, signal);
    return got;
  };
  assert.is(await chosen("--json"), undefined);
  for (const args of [["--side"], ["--side", "--json"], ["--json", "--side"], ["--side", "head"]])
    assert.is(await chosen(...args), "head", args.join(" "));
  for (const args of [["--side", "layers", "--json"], ["--side=layers"]])
    assert.is(await chosen(...args), "layers", args.join(" "));
  const error = await chosen("--side", "layer").catch((thrown: unknown) => thrown);
  assert.instance(error, UsageError);
});

test("wrong usage is said in one line", async () => {
  await refused([], "--model DIR is missing");
  // From here on the words are Node's.
  await refused(["--model"], /--model .*missing/);
  await refused(["--model", "m", "--modle", "m"], /^Unknown option '--modle'$/);
  await refused(["--model", "m", "--json=1"], /--json/);
  await refused(["--model", "m", "more"], /'more'/);
  await refused(["--model", "--json"], /--model.*ambiguous$/);
});

test("numbers are whole and in their range", async () => {
  for (const value of ["0", "1.5", "1e3", "x", "", " 3", "99999999999999999999"]) {
    await refused(
      ["--model", "m", "--top-k", value],
      `--top-k: expected a whole number from 1 on, got "${value}"`,
    );
  }
  await refused(
    ["--model", "m", "--limit", "3"],
    '--limit: expected a whole number from 4 on, got "3"',
  );
});

test("help is made from the table", () => {
  assert.is(
    command(() => {}).help(),
    `Tests.

Usage: reatt test [options]

Options:
  --model DIR  a folder (required)
  --note TEXT  a note
  --top-k N    how many (default 10)
  --limit N    how long
  --json       as JSON
`,
  );
});

test("a command may take operands, before, between and after its options", async () => {
  const got: unknown[] = [];
  const joins = defineCommand({
    name: "join",
    summary: "Joins.",
    options: { out: { kind: "text", placeholder: "DIR", help: "where", required: true } },
    operands: { placeholder: "PART...", help: "what" },
    async run({ out }, _, operands) {
      got.push(out, operands);
    },
  });
  await joins.run(["a", "--out", "b", "c", "--", "--d"], signal);
  assert.equal(got, ["b", ["a", "c", "--d"]]);
  assert.match(
    joins.help(),
    /Usage: reatt join \[options\] PART\.\.\.\n.*\n {2}PART\.\.\. +what\n/s,
  );
  await refused(["--model", "m", "more"], /Unexpected argument 'more'/);
});

test.run();
