/** Answers that are regular expressions, beside DPR's `regex_match`. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { checkExpressions, isExpression } from "../../src/evaluation/answer-expressions.ts";
import { containsAnswer, exactMatch, f1 } from "../../src/evaluation/answers.ts";
import { InputError } from "../../src/io/errors.ts";
import { stepRelevance } from "../../src/training/examples/step-relevance.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";

const folder = temporaryFolder();

test("an expression matches anywhere in a text, regardless of case, and ^ at a line", () => {
  // What qa_validation.py of DPR gives
  for (const [expression, text, matches] of [
    ["19(04|05)", "Einstein wrote it in 1905.", true],
    ["19(04|05)", "in 1906", false],
    ["napol[eé]on", "NAPOLÉON Bonaparte", true],
    ["Long\\s?Island", "longisland", true],
    ["^Ulm$", "Munster\nUlm\nBern", true],
    ["^Ulm$", "in Ulm", false],
    ["\\-5", "at -5 degrees", true],
    ["café", "the cafe\u0301", true],
  ] as const)
    assert.is(containsAnswer(text, [`regex:${expression}`]), matches, `${expression} in ${text}`);
  assert.ok(containsAnswer("born in Ulm", ["regex:Bern", "ulm"]));
  assert.ok(exactMatch("1905, in Bern", ["regex:19(04|05)"]));
  assert.not(exactMatch("in 1905", ["regex:19(04|05)"]));
  assert.is(f1("1905", ["regex:19(04|05)"]), 1);
});

test("a folder between slashes is a text", () => {
  assert.equal(["regex:a", "regex:", "/etc/", "a regex: b"].map(isExpression), [
    true,
    false,
    false,
    false,
  ]);
  assert.ok(exactMatch("/etc/ssh/", ["/etc/ssh/"]));
});

test("an expression makes positives and hides negatives", () => {
  const passages = ["in 1904", "in 1906", "in 1907"].map((text, i) => ({
    id: `${i}`,
    title: "",
    text,
  }));
  const [relevance] = stepRelevance([{ passages, relevant: [], answers: ["regex:190[45]"] }]);
  assert.equal(relevance!.positives, [0]);
});

test("a training file has them, and a wrong one is named", async () => {
  const file = join(folder, "curatedtrec-test.qa.csv");
  writeFileSync(file, "When did Einstein write it?\t['regex:19(04|05)']\nWho?\t['Ulm']\n");
  const [first] = await readTrainingFile(file);
  assert.equal(first!.answers, ["regex:19(04|05)"]);
  for (const [wrong, message] of [
    ["regex:19(04", /wrong\.jsonl:1: expected a regular expression after regex:, got .*19\(04/],
    ["regex:(a+)+b", /repeats a group with a repetition/],
    ["regex:(a|aa)*b", /repeats a group with a repetition/],
  ] as const) {
    const named = join(folder, "wrong.jsonl");
    writeFileSync(named, `${JSON.stringify({ question: "q", answers: [wrong] })}\n`);
    await refused(readTrainingFile(named), message);
  }
});

test("any text after regex: is an expression, or is refused", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab(|)[]{}1,*+?\\^$.-") }), (source) => {
      try {
        checkExpressions([`regex:${source}`], "file");
        containsAnswer("ab ".repeat(20), [`regex:${source}`]);
      } catch (error) {
        assert.instance(error, InputError);
      }
    }),
  );
});

test.run();
