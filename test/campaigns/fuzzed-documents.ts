/** The readers of documents for the fuzz campaign: the cases of all formats. */

import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readDocuments } from "../../src/documents/read-documents.ts";
import type { Random } from "../../src/math/random.ts";
import { bytesOf, CASES } from "../documents/cases.ts";
import { tokenizer } from "../documents/support.ts";
import type { FuzzedReader } from "./fuzzed-readers.ts";
import { mutateBytes } from "./mutate.ts";

/** Of all inputs, relative to the other readers. */
const SHARE = 4;
/** Reading a PDF takes longer. */
const PDF_SHARE = 1;

/** `folder` has a folder for each reader, which receives the file of its name. */
export function fuzzedDocuments(folder: string): FuzzedReader[] {
  const texts = Object.values(CASES).flatMap(({ sample }) =>
    typeof sample === "string" ? [Buffer.from(sample)] : [],
  );
  return Object.entries(CASES).map(([name, { sample }]) => {
    const whole = bytesOf(sample);
    if (typeof sample === "string")
      return reader(folder, name, (random) => packed(random, mutateBytes(random, whole, texts)));
    const part = Buffer.from(sample.part);
    return reader(
      folder,
      name,
      (random) =>
        random.integer(2) === 0
          ? sample.make(mutateBytes(random, part, [part]).toString())
          : mutateBytes(random, whole, [part]),
      /\.pdf$/.test(name) ? PDF_SHARE : SHARE,
    );
  });
}

function reader(
  folder: string,
  name: string,
  make: (random: Random) => Buffer,
  share = SHARE,
): FuzzedReader {
  const file = join(folder, name, name);
  return {
    ...{ name, share },
    make: (random) => ({ [name]: make(random) }),
    async read() {
      for await (const _ of readDocuments(file, { tokenizer }));
    },
  };
}

/** One in eight is gzip, half of these damaged. */
function packed(random: Random, bytes: Buffer): Buffer {
  if (random.integer(8) > 0) return bytes;
  const whole = gzipSync(bytes);
  return random.integer(2) === 0 ? whole : mutateBytes(random, whole, [whole]);
}
