import { test } from "uvu";
import * as assert from "uvu/assert";
import { termsOf } from "../../src/text/terms.ts";
import { assertLinear } from "../support/linear-time.ts";

test("lower case, stop words and stems", () => {
  assert.equal(termsOf("The Cats are RUNNING into the houses, and into it!"), [
    "cat",
    "run",
    "hous",
  ]);
  assert.equal(termsOf("not such no if as at the that"), []);
});

test("Porter's examples, including his two later rules", () => {
  const words =
    "caresses ponies relational conditional vietnamization adoption hopefulness archaeology possibly";
  const stems = "caress poni relat condit vietnam adopt hope archaeolog possibl";
  assert.equal(termsOf(words), stems.split(" "));
});

test("apostrophes, full stops and commas inside words and numbers", () => {
  assert.equal(termsOf("O'Neil's U.S.A. 1,000.5 example.com"), [
    "o'neil",
    "u.s.a",
    "1,000.5",
    "example.com",
  ]);
  assert.equal(termsOf("Norway’s it's dogs' end.Start 3.x 'quoted'"), [
    "norwai",
    "dog",
    "end.start",
    "3",
    "x",
    "quot",
    "3.x",
  ]);
  assert.equal(termsOf("well-known, snake_case (1980s)"), [
    "well",
    "known",
    "snake",
    "case",
    "1980",
    "well-known",
    "snake_case",
  ]);
});

test("what signs join is a term besides its words", () => {
  const expressions = (text: string) => termsOf(text).filter((term) => /[^a-z0-9.]/.test(term));
  for (const expression of [
    "2024-01-10",
    "max_retry_count",
    "db-03.east.example.net",
    "1.0.0-beta.2",
    "/etc/app/main.conf",
    "C:\\data\\a1.csv",
    "inv-2024/0017",
    "ann@example.org",
    "std::vector",
  ])
    assert.equal(expressions(`see ${expression}, please.`), [
      expression.toLowerCase().replace(/^\//, ""),
    ]);
  assert.equal(expressions("10.0.3.12 v2.4.10 one. Two - three, four/ five"), []);
  assert.equal(termsOf("10.0.3.12"), ["10.0.3.12"]);
  assert.not.equal(termsOf("2024-01-10").sort(), termsOf("2024-10-01").sort());
});

test("letters, marks and numbers of any script", () => {
  assert.equal(termsOf("Ångström Δέλτα हिन्दी ½ №5"), [
    "angstrom",
    "δελτα",
    "हिन्दी",
    "1",
    "2",
    "no5",
    "1/2",
  ]);
  assert.equal(termsOf(" \t…—!?"), []);
  assert.equal(termsOf(""), []);
});

test("time is linear in the length of a text without spaces", async () => {
  await assertLinear((size) => {
    const [term] = termsOf(`${"y".repeat(size)}ement`);
    assert.ok(term!.startsWith("yyy"));
    assert.is(termsOf("a-".repeat(size / 2)).at(-1)!.length, size - 1);
  }, 50_000);
});

test("analyses the same text the same way again", () => {
  const text = "Retrieval as attention: end-to-end learning of retrieval and reading";
  assert.equal(termsOf(text), termsOf(text));
});

test.run();
