/** Links to documents: their own addresses, paths behind a base, pages of a PDF. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { OPEN_OPTIONS } from "../../src/options/library-options.ts";
import { resolveOptions } from "../../src/options/resolve.ts";
import { isLinkBase, linkOf } from "../../src/text/link.ts";

const BASE = "https://example.org/docs/";

test("a link has the path of the file behind the base, and the page of a PDF", () => {
  for (const [passage, link] of [
    [{ id: "a.md#1", metadata: { _source: "guide/a b.md" } }, `${BASE}guide/a%20b.md`],
    [{ id: "x", metadata: { _source: "./r/50%.PDF", _page: 3 } }, `${BASE}r/50%25.PDF#page=3`],
    [{ id: "x", metadata: { _source: "n.pptx", _page: 3 } }, `${BASE}n.pptx`],
    [{ id: "t.csv#7#1", document: "t.csv#7" }, `${BASE}t.csv%237`],
    [{ id: "/etc/x?y" }, `${BASE}etc/x%3Fy`],
    [{ id: "\ud800" }, `${BASE}%EF%BF%BD`],
  ] as const)
    assert.is(linkOf(passage, BASE), link);
});

test("a base is the address of pages or files, and no script", () => {
  const passage = { id: "a.md" };
  for (const base of ["https://example.org", "HTTP://example.org/?f=", "file:///srv/docs"])
    assert.ok(isLinkBase(base) && linkOf(passage, base)!.startsWith(base), base);
  for (const base of ["javascript:alert(1)//", "data:text/html,a", "vbscript:x", "docs", "http:"]) {
    assert.not.ok(isLinkBase(base), base);
    assert.is(linkOf(passage, base), undefined);
    assert.throws(
      () => resolveOptions(OPEN_OPTIONS, { linkBase: base }),
      /linkBase: expected an address such as https:\/\/example\.org\/docs, got /,
    );
  }
});

test("a path follows a query or a fragment at once, and a PDF still opens at its page", () => {
  const passage = { id: "x", metadata: { _source: "r/a b.pdf", _page: 3 } };
  for (const [base, link] of [
    ["https://example.org/view?file=", "https://example.org/view?file=r/a%20b.pdf#page=3"],
    ["https://example.org/view?dir=docs/", "https://example.org/view?dir=docs/r/a%20b.pdf#page=3"],
    ["https://example.org/#/read/", "https://example.org/#/read/r/a%20b.pdf"],
  ])
    assert.is(linkOf(passage, base), link);
});

test("the field url comes first, unless it is no address of a page", () => {
  const url = "https://example.com/m.pdf";
  const own = (url: string) => ({ id: "1", metadata: { url, _source: "m.pdf", _page: 2 } });
  assert.is(linkOf(own(url), BASE), `${url}#page=2`);
  assert.is(linkOf(own(url)), `${url}#page=2`);
  assert.is(linkOf(own(`${url}?v=1`)), `${url}?v=1#page=2`);
  assert.is(linkOf(own(`${url}#page=9`)), `${url}#page=9`);
  for (const other of ["javascript:alert(1)", "data:text/html,x", "m.pdf", ""]) {
    assert.is(linkOf(own(other), BASE), `${BASE}m.pdf#page=2`);
    assert.is(linkOf(own(other)), undefined);
  }
});

test.run();
