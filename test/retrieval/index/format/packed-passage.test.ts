import { deflateRawSync } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import {
  packPassage,
  unpackPassage,
} from "../../../../src/retrieval/index/format/packed-passage.ts";

const PASSAGE = { id: "1", title: "", text: "Oxygen is a chemical element." };

test("a passage is the same after packing", () => {
  assert.equal(unpackPassage(packPassage(PASSAGE), "file"), PASSAGE);
});

test("bytes with a valid checksum that are no passage: one line names the file", () => {
  const packed = packPassage(PASSAGE);
  const cases = [packed.subarray(0, 9), Buffer.alloc(0), Buffer.from("x"), deflateRawSync("{")];
  for (const bytes of cases)
    assert.throws(
      () => unpackPassage(bytes, "index/passages.deflate"),
      (error: Error) =>
        error instanceof InputError &&
        /^index\/passages\.deflate: expected compressed passages, got [^\n]+; /.test(error.message),
    );
});

test.run();
