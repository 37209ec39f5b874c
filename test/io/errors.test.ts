import { readFileSync } from "node:fs";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { INPUT_ERRORS } from "../../src/io/error-codes.ts";
import { InputError, inputErrorFrom, type Problem, writeErrorFrom } from "../../src/io/errors.ts";
import { assertLinear } from "../support/linear-time.ts";

const problem = { where: "file", expected: "a file", remedy: "check the path" };
const system = (code: string) => Object.assign(new Error("failed"), { code, syscall: "open" });

test("a message is one line, whatever its parts contain", () => {
  const { message } = new InputError({ ...problem, where: "a\nb", got: "\tc\u0000d" });
  assert.is(message, "a b: expected a file, got c d; check the path");
});

test("the length of a message does not grow with an endless part, its time with its length", async () => {
  await assertLinear((count) => {
    const { message } = new InputError({ ...problem, got: `${" ".repeat(count)}\u2028x` });
    assert.ok(message.length < 2_000);
    assert.not.match(message, /\u2028/);
  }, 1_000_000);
});

test("an error that is made of wrong parts is an InputError, too", () => {
  const make = (given: unknown) => () => new InputError(given as Problem);
  const parts = { where: "file", expected: "text", got: "none", remedy: "add it" };
  assert.is(make(parts)().message, "file: expected text, got none; add it");
  for (const [given, name, got] of [
    [undefined, "where", "nothing"],
    [null, "where", "nothing"],
    [5, "where", "nothing"],
    [{ ...parts, got: undefined }, "got", "nothing"],
    [{ ...parts, remedy: Symbol("s") }, "remedy", "a value of the type symbol"],
    [{ ...parts, expected: Object.create(null) }, "expected", "a value of the type object"],
  ] as const)
    assert.throws(
      make(given),
      (error: Error) =>
        error instanceof InputError &&
        error.message ===
          `new InputError: expected "${name}" as text, got ${got}; ` +
            "give { where, expected, got, remedy }",
    );
});

test("errors of the system become an InputError with their meaning and cause", () => {
  const cause = system("ENOENT");
  const error = inputErrorFrom(cause, problem) as InputError;
  assert.instance(error, InputError);
  assert.is(error.message, "file: expected a file, got ENOENT (no such file); check the path");
  assert.is(error.cause, cause);
  assert.match((inputErrorFrom(system("EODD"), problem) as Error).message, / got EODD; /);
});

test("other errors stay as they are", () => {
  for (const error of [new Error("defect"), new InputError({ ...problem, got: "x" }), undefined])
    assert.is(inputErrorFrom(error, problem), error);
});

test("the remedy of a full disk is to free space", () => {
  assert.match((writeErrorFrom(system("ENOSPC"), "file") as Error).message, /; free some space/);
  assert.match((writeErrorFrom(system("EACCES"), "file") as Error).message, /; choose a place/);
});

test("the code is that of the problem, of the system or of the cause", () => {
  const codeOf = (error: unknown) => (error as InputError).code;
  assert.is(codeOf(new InputError({ ...problem, got: "x" })), "ERR_REATT_BAD_INPUT");
  assert.is(
    codeOf(new InputError({ ...problem, got: "x", code: "ERR_REATT_BUSY" })),
    "ERR_REATT_BUSY",
  );
  const full = writeErrorFrom(system("ENOSPC"), "file");
  assert.is(codeOf(full), "ERR_REATT_DISK_FULL");
  assert.is(
    codeOf(new InputError({ ...problem, got: "x" }, { cause: full })),
    "ERR_REATT_DISK_FULL",
  );
  assert.is(codeOf(inputErrorFrom(system("EODD"), problem)), "ERR_REATT_BAD_INPUT");
  const unknown = { ...problem, got: "x", code: "toString" } as unknown as Problem;
  assert.throws(() => new InputError(unknown), /expected a code among ERR_REATT_BAD_INPUT, /);
});

test("JSON keeps the fields", () => {
  const error = new InputError({ ...problem, got: "x", code: "ERR_REATT_BUSY" });
  assert.equal(JSON.parse(JSON.stringify({ error })).error, {
    ...{ name: "InputError", code: "ERR_REATT_BUSY", status: 409, message: error.message },
    ...{ where: "file", expected: "a file", got: "x", remedy: "check the path" },
  });
});

test("docs/APPLICATION.md has each code with its status", () => {
  const text = readFileSync("docs/APPLICATION.md", "utf8");
  const rows = [...text.matchAll(/^\| `(ERR_REATT_\w+)` \| (\d+) \|/gm)];
  const table = Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]));
  const statuses = Object.entries(INPUT_ERRORS).map(([code, { status }]) => [code, status]);
  assert.equal(table, Object.fromEntries(statuses));
});

test.run();
