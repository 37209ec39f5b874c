/** Where a quotation can begin and end: expressions of many kinds by hand, and linear time. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { cutsOf } from "../../src/text/expressions.ts";
import { assertLinear } from "../support/linear-time.ts";

/** Expressions that cannot be cut. */
const WHOLE = [
  ...["lighthouse", "light\u00adhouse", "café", "cafe\u0301", "H2O", "19th", "C₆H₁₂O₆"],
  ...[
    "1,000,000",
    "1'000'000",
    "1 000 000",
    "1\u202f000\u202f000",
    "3.14",
    "6.02×10^23",
    "6'2\"",
    "5′ 11″",
    "2 1/2",
    "2½",
    "10⁶",
    "10⁻³",
  ],
  ...["10:00", "10:00:00", "10:30 a.m.", "2024-01-05", "01/02/2024", "16:9", "21-14", "½"],
  ...["8.8.8.8", "fe80::1ff:fe23:4567:890a", "00:1b:44:11:3a:b7", "v1.2.3-beta.1", "1.0.0-rc.1+5"],
  ...["+44 20 7946 0958", "(555) 010-9999", "555-010-9999", "978-3-16-148410-0"],
  ...["$1,299.99", "€5", "5 €", "US$5", "-5", "−40 °C", "12.5%", "12 %", "48.85° N", "3.5 million"],
  ...["C++", "C#", ".NET", "Node.js", "AT&T", "snake_case", "std::vector", "E=mc^2", "f(x)"],
  ...["ann.lee+x@example.org", "https://example.org/a?b=1", "www.example.org", "example.org"],
  ...["/usr/local/bin", "C:\\Users\\ann", "O'Neill", "O’Neill", "U.S", "J.R.R", "Ca(OH)2"],
  ...["COVID-19", "F-16", "X-ray", "km/h", "TCP/IP", "A4-12B", "#42", "@ann", "Duran Duran"],
  ...["550e8400-e29b-41d4-a716-446655440000", "हिन्दी", "שָׁלוֹם", "한국어"],
];

test("a quotation does not begin or end inside an expression", () => {
  for (const expression of WHOLE) {
    const text = `It is ${expression} (so). It was ${expression}, ${expression}.`;
    const canCut = cutsOf(text);
    for (let at = text.indexOf(expression); at !== -1; at = text.indexOf(expression, at + 1)) {
      assert.ok(canCut(at), `before ${expression}`);
      assert.ok(canCut(at + expression.length), `behind ${expression}`);
      for (let i = 1; i < expression.length; i++)
        assert.not(canCut(at + i), `${expression.slice(0, i)}|${expression.slice(i)}`);
    }
  }
});

/** `|` marks where these can be cut. */
const DIVIDED = [
  ...["Watt|'s", "Franco|-|Prussian", "19|-|year|-|old", "19th|-|century", "1914|-|1918"],
  ...["10:00| |to| |17:00", "1914|–|1918", "red|,| |white", "l|'|eau"],
  ...["北京|是|中国|的|首都", "東京|は|日本", "ภาษา|ไทย"],
];

test("other text can be cut between its words", () => {
  for (const marked of DIVIDED) {
    const parts = marked.split("|");
    const text = ` ${parts.join("")} `;
    const canCut = cutsOf(text);
    let at = 1;
    for (const part of parts) {
      assert.ok(canCut(at), `before ${part} of ${text}`);
      at += part.length;
      assert.ok(canCut(at), `behind ${part} of ${text}`);
    }
  }
});

test("every text can be cut at its beginning, its end and its spaces between words", () => {
  for (const text of [
    "",
    " ",
    "a",
    "1,000",
    "naïve words here",
    "$",
    "http://",
    "((((",
    "\u00ad",
  ]) {
    const canCut = cutsOf(text);
    assert.ok(canCut(0) && canCut(text.length), JSON.stringify(text));
  }
  const canCut = cutsOf("naïve words here");
  for (const position of [5, 6, 11, 12]) assert.ok(canCut(position));
});

test("the time is linear in the length of a run", async () => {
  for (const run of [
    "a",
    "a-",
    "1e",
    "A1-",
    "1.",
    "1 ",
    "a.",
    "(",
    "1,",
    "x/",
    "a'",
    "@a",
    "1:",
    "$1",
    "-1",
    "_a",
    "1 (",
  ])
    await assertLinear((length) => cutsOf(run.repeat(length)), 2_000, run);
});

test.run();
