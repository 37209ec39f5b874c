/** What of a question the passages lack. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  missingSignals,
  missingSpecifics,
  repeatsQuestion,
  specificsOf,
  unmatchedShare,
} from "../../src/decoder/support.ts";
import type { PassageInput } from "../../src/text/passage.ts";

const missingIn = (
  question: string,
  texts: readonly Pick<PassageInput, "title" | "text">[],
): number => missingSignals(missingSpecifics(specificsOf(question), texts), undefined).missing;

const town = { title: "Town", text: "In 1989 the town had 10,412 inhabitants, says Dr. Meyer." };

test("numbers, codes and names that no passage has are missing, at most two", () => {
  for (const [question, missing] of [
    ["How many inhabitants did the town have in 1989?", 0],
    ["How many inhabitants did the town have in 1991?", 1],
    ["how many in 89?", 1], // not a part of 1989
    ["What did Meyer say of 10,412?", 0],
    ["Did Schmidt count 10,413 in 1991?", 2],
    ["Meyer?", 0],
    ["What runs on port-8080?", 1],
    ["", 0],
    ["Why? Because of Meyer", 0], // begins a sentence
    ["May I ask Meyer?", 0],
    ["who is meyer@example.org", 1],
    ["what is at mail.example.org, e.g. now?", 1],
    ["Did Meyer write PDFs on his PC?", 0], // said in other words, perhaps
    ["Which Towns did Meyer's count leave out?", 0], // inflected
    ["What did the 10412 Meyers do?", 0],
    ["How Many People Lived In Ardmore?", 0], // capitals of a title
    ["How many people lived in Ardmore?", 1],
  ] as const)
    assert.is(missingIn(question, [town]), missing, question);
  assert.is(missingIn("In 1991 and 1989?", [town, { text: "1991." }]), 0);
});

test("versions, units and signs of a number are not missing", () => {
  const release = { title: "v5.0.2", text: "UTF-8 is read since 1.9, in 100 ms or 3GB of RAM." };
  for (const [question, missing] of [
    ["what is new in 5.0.2", 0],
    ["what is new in v5.0.2", 0],
    ["what is new in 5.0.3", 1],
    ["does it read utf8", 0],
    ["does it read UTF-16", 1],
    ["is 100ms enough", 0],
    ["are 3 GB enough", 0],
    ["are 30 GB enough", 1],
    ["was it so in 0.9", 1], // not a part of 1.9
  ] as const)
    assert.is(missingIn(question, [release]), missing, question);
});

test("what is missing can be known elsewhere", () => {
  const missing = missingSpecifics(specificsOf("Did Schmidt or Ann count in 1991?"), [town]);
  assert.equal(
    missing.map(({ written, word }) => `${written} ${word}`),
    ["Schmidt schmidt", "Ann ann", "1991 1991"],
  );
  assert.equal(missingSignals(missing, undefined), { missing: 2, unknown: undefined });
  assert.equal(missingSignals(missing, new Set()), { missing: 2, unknown: 2 });
  assert.equal(missingSignals(missing, new Set(["ann", "1991"])), { missing: 2, unknown: 1 });
});

test("the share of terms in no text", () => {
  assert.is(unmatchedShare("town inhabitants", [town]), 0);
  assert.is(unmatchedShare("", [town]), 0);
  assert.is(unmatchedShare("zebra", [town]), 1);
  // How something is asked does not count.
  assert.is(unmatchedShare("How many inhabitants did the town have, please?", [town]), 0);
  assert.is(unmatchedShare("Which town has zebras?", [town]), 0.5);
});

test("an answer of words of the question says nothing, unless there is a choice", () => {
  assert.ok(repeatsQuestion("Which port does the server use?", "the server"));
  assert.ok(repeatsQuestion("Who is it?", "Who"));
  assert.not(repeatsQuestion("Which port does the server use?", "serve"));
  assert.not(repeatsQuestion("Is it tea or milk?", "milk"));
  assert.not(repeatsQuestion("What is c?", "C++ 17"));
});

test.run();
