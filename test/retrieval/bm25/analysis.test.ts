import { test } from "uvu";
import * as assert from "uvu/assert";
import { analyse } from "../../../src/retrieval/bm25/analysis.ts";

test("lower case, stop words and stems", () => {
  assert.equal(analyse("The Cats are RUNNING into the houses, and into it!"), [
    "cat",
    "run",
    "hous",
  ]);
  assert.equal(analyse("not such no if as at the that"), []);
});

test("Porter's examples, including his two later rules", () => {
  const words =
    "caresses ponies relational conditional vietnamization adoption hopefulness archaeology possibly";
  const stems = "caress poni relat condit vietnam adopt hope archaeolog possibl";
  assert.equal(analyse(words), stems.split(" "));
});

test("apostrophes, full stops and commas inside words and numbers", () => {
  assert.equal(analyse("O'Neil's U.S.A. 1,000.5 example.com"), [
    "o'neil",
    "u.s.a",
    "1,000.5",
    "example.com",
  ]);
  assert.equal(analyse("Norway’s it's dogs' end.Start 3.x 'quoted'"), [
    "norwai",
    "dog",
    "end.start",
    "3",
    "x",
    "quot",
  ]);
  assert.equal(analyse("well-known, snake_case (1980s)"), [
    "well",
    "known",
    "snake",
    "case",
    "1980",
  ]);
});

test("letters, marks and numbers of any script", () => {
  assert.equal(analyse("Ångström Δέλτα हिन्दी ½ №5"), ["ångström", "δέλτα", "हिन्दी", "½", "5"]);
  assert.equal(analyse(" \t…—!?"), []);
  assert.equal(analyse(""), []);
});

test("time is linear in the length of a text without spaces", () => {
  const [term] = analyse(`${"y".repeat(200_000)}ement`);
  assert.ok(term!.startsWith("yyy"));
});

test("analyses the same text the same way again", () => {
  const text = "Retrieval as attention: end-to-end learning of retrieval and reading";
  assert.equal(analyse(text), analyse(text));
});

test.run();
