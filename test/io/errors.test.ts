import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError, inputErrorFrom, writeErrorFrom } from "../../src/io/errors.ts";

const problem = { where: "file", expected: "a file", remedy: "check the path" };
const system = (code: string) => Object.assign(new Error("failed"), { code, syscall: "open" });

test("a message is one line, whatever its parts contain", () => {
  const { message } = new InputError({ ...problem, where: "a\nb", got: "\tc\u0000d" });
  assert.is(message, "a b: expected a file, got c d; check the path");
});

test("the time and the length of a message do not grow with an endless part", () => {
  const start = performance.now();
  const { message } = new InputError({ ...problem, got: `${" ".repeat(1_000_000)}\u2028x` });
  assert.ok(message.length < 2_000);
  assert.not.match(message, /\u2028/);
  assert.ok(performance.now() - start < 1_000);
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

test.run();
