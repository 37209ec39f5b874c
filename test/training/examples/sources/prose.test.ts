import { test } from "uvu";
import * as assert from "uvu/assert";
import { crops } from "../../../../src/training/examples/sources/crops.ts";
import { isProse } from "../../../../src/training/examples/sources/prose.ts";
import { ALL, listOf, textsOf } from "../../../support/sources.ts";

test("sentences are prose; lists, rows of tables, rows of numbers and links are not", () => {
  for (const text of [
    "In Basel, on May 5, 1912, the bridge, which Anna Berg had built, was opened to trains.",
    "See https://example.org for the report on the state of all bridges of the country.",
    "It has 4 lanes and 2 tracks, is 300 m long and 20 m wide.",
    "我们使用手机上网查询资料，然后去图书馆。",
    "اللغة العربية من أكثر اللغات انتشارا في العالم",
  ])
    assert.ok(isProse(text), text);
  for (const text of [
    "Home | News | Contact | Terms of use | Login",
    "Laptop for the whole family | 16 GB of memory | 1,299 EUR",
    "| The laptop for the whole family | in stock since this spring |",
    "apples, pears, red plums, figs, walnuts, quinces",
    "1890 12 300 bridge 1912 14 310 tower 1913",
    "Links: https://example.org/a/long/path https://example.org/another/path",
    "anna@example.org, carl@example.org and the others",
  ])
    assert.not.ok(isProse(text), text);
});

test("a sentence of many passages makes no example", async () => {
  const notice = "This page may be printed for private use only.";
  const texts = Array.from(
    { length: 40 },
    (_, i) => `Bird number ${i} sings at night in the old garden. ${notice}`,
  );
  const questions = (await listOf(crops.examples(textsOf(...texts), ALL))).map(
    ({ question }) => question,
  );
  assert.is(questions.length, 40);
  assert.not.ok(questions.includes(notice));
  const few = (await listOf(crops.examples(textsOf(...texts.slice(0, 3)), ALL))).length;
  assert.is(few, 6, "three copies in a small corpus say nothing");
});

test.run();
