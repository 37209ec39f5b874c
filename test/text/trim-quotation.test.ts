/** The marks around a quotation that it does not need. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { trimQuotation } from "../../src/text/trim-quotation.ts";

/** A text with the span between `<` and `>`, and what is quoted. */
const EXAMPLES: readonly (readonly [marked: string, quoted: string])[] = [
  ['<open the page, choose ">Forgot password"', "open the page, choose"],
  ['choose "<Forgot password">', '"Forgot password"'],
  ['the "two <lakes">', "lakes"],
  ["at (<0, 0)>", "(0, 0)"],
  ["a length of <400 m (1,300 ft)>", "400 m (1,300 ft)"],
  ["at <(0, 0>)", "(0, 0)"],
  ["the <(old town> of Riga)", "old town"],
  ["who <silt up the lake.>", "silt up the lake"],
  ["<Brown v.> Board", "Brown v."],
  ["at <10:30 a.m.>", "10:30 a.m."],
  ["<Apple Inc.>", "Apple Inc."],
  ["a < Paris, >and", "Paris"],
  ["about <80%>", "80%"],
  ["<6'2\">", "6'2\""],
  ['"<in 1999">', '"in 1999"'],
  ["<“Hello”, she said:>", "“Hello”, she said"],
  ["[<a]>", "[a]"],
  ["<...>", "..."],
  ["<)>", ")"],
  ["<,>", ","],
  ["<U.S. troops left.>", "U.S. troops left."],
  ["a loss of (<1,234) thousand>", "(1,234) thousand"],
  ["Balance: (<1,234>).", "(1,234)"],
  ["James Watt (<1781>)", "1781"],
];

test("a quotation has no marks of the text around it", () => {
  for (const [marked, quoted] of EXAMPLES) {
    const start = marked.indexOf("<");
    const end = marked.lastIndexOf(">") - 1;
    const text = marked.replace("<", "").replace(/>(?=[^>]*$)/, "");
    const span = trimQuotation(text, { start, end });
    assert.is(text.slice(span.start, span.end), quoted, marked);
    assert.equal(trimQuotation(text, span), span, `${marked}: trimmed twice`);
  }
});

test.run();
