/**
 * The token keys of an index as a LanceDB table, on a disk or in an object store.
 *
 *     segment   uint32               number of a segment of the index (`segmentNumber`)
 *     passage   uint32               ordinal of a passage in its segment
 *     key       float32 [dimension]  a token key
 *
 * Segments do not change, so a table follows its index by whole segments. Each generation of the
 * index has a tag, which names the version of the table with its keys. A version cannot be opened
 * before it has its tag. LanceDB commits every change as a new version, and readers stay on theirs.
 * Source: https://lancedb.github.io/lancedb/js
 */

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { crc32 } from "node:zlib";
import type * as LanceDb from "@lancedb/lancedb";
import type * as Arrow from "apache-arrow";
import { InputError } from "../../io/errors.ts";
import type { SegmentRecord } from "../index/format/manifest.ts";

export interface Lance {
  readonly lancedb: typeof LanceDb;
  readonly arrow: typeof Arrow;
}

/** The name of the table in the database. */
export const TABLE = "token_keys";

/** @throws {InputError} if the optional packages are not installed */
export function loadLance(): Lance {
  // silences a deprecation warning on stderr
  process.env.LANCE_INCLUDE_VECTOR_CENTROIDS ??= "false";
  const require = createRequire(import.meta.url); // LanceDB rejects tables of another copy of Arrow
  try {
    return { lancedb: require("@lancedb/lancedb"), arrow: require("apache-arrow") };
  } catch (cause) {
    throw new InputError(
      {
        code: "ERR_REATT_NO_PACKAGE",
        where: "engine lancedb",
        expected: "the packages @lancedb/lancedb and apache-arrow",
        got: (cause as Error).message.split("\n")[0]!,
        remedy: "npm install @lancedb/lancedb@0.30 apache-arrow@18",
      },
      { cause },
    );
  }
}

/**
 * Connects to the database at `uri`: a folder, or an object store, such as `s3://bucket/folder`.
 */
export function connect({ lancedb }: Lance, uri: string): Promise<LanceDb.Connection> {
  // LanceDB Cloud claims names that begin with "db"
  return lancedb.connect(uri.includes("://") ? uri : resolve(uri));
}

/** Identifies a segment in the rows of its keys. Segments of the same name differ in it. */
export const segmentNumber = ({ name, tokens, files }: SegmentRecord): number =>
  crc32(JSON.stringify([name, tokens, files]));

/** The tag of the version with the keys of exactly these segments. */
export function stateTag(segments: readonly SegmentRecord[]): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(segments.map(segmentNumber)))
    .digest("hex");
  return `keys-${digest.slice(0, 16)}`;
}

/** Describes a failure of LanceDB in one line. */
export function lanceError(uri: string, expected: string, cause: unknown): InputError {
  const got = (cause as Error).message.split("\n")[0]!.replace(/, \/\S*\.rs:\d+:\d+.*/, "");
  return new InputError(
    { where: uri, expected, got, remedy: "check that the place can hold a table" },
    { cause },
  );
}
