/** Places of passages in words. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { placeInWords } from "../../src/text/place.ts";

test("the place of a passage, of each kind of document", () => {
  for (const [metadata, place] of [
    [{ _page: 3 }, "page 3"],
    [{ _page: 3, _pages: "3-5" }, "pages 3 to 5"],
    [{ _lines: "10-14" }, "lines 10 to 14"],
    [{ _lines: "7" }, "line 7"],
    [{ _slide: 2, _headings: ["Plan"] }, "slide 2"],
    [{ _sheet: "Prices 2024-25", _rows: "2-9" }, "sheet Prices 2024-25, rows 2 to 9"],
    [{ _cell: 1, _cells: "1-2" }, "cells 1 to 2"],
    [{ _chapter: 4 }, "chapter 4"],
    [{ year: 2020 }, undefined],
    [{ _lines: true, _page: [1] }, undefined],
    [undefined, undefined],
  ] as const)
    assert.is(placeInWords(metadata), place);
});

test.run();
