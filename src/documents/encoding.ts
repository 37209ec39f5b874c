/** Decodes text of unknown encoding: by its byte order mark, as UTF-8, or by statistics. */

import { isUtf8 } from "node:buffer";
import { analyse } from "chardet";
import { InputError } from "../io/errors.ts";

/** Bytes of which the encoding is guessed. */
const SAMPLE_BYTES = 65_536;
/** Bytes in which a zero byte means that the file is not text, as in git. */
const BINARY_BYTES = 8_192;
/** Bytes in which HTML names its encoding (HTML Standard, 13.2.3.2). */
const META_BYTES = 1_024;
const META = /<meta[^<>]{0,200}?charset\s*=\s*["']?([\w-]{1,40})/i;

/** The more specific mark first: UTF-32 begins as UTF-16 does. */
const MARKS: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xff, 0xfe, 0, 0], "utf-32le"],
  [[0, 0, 0xfe, 0xff], "utf-32be"],
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xff, 0xfe], "utf-16le"],
  [[0xfe, 0xff], "utf-16be"],
];

/** @throws {InputError} if the bytes are not text */
export function decodeText(bytes: Buffer, where: string): string {
  const mark = MARKS.find(([mark]) => mark.every((byte, i) => bytes[i] === byte));
  if (!mark && bytes.subarray(0, BINARY_BYTES).includes(0)) throw notText(where, "a binary file");
  if (!mark && isUtf8(bytes)) return lineBreaks(bytes.toString("utf8"));
  return lineBreaks(decoderOf(mark?.[1] ?? guess(bytes), where).decode(bytes));
}

/** Line breaks of Windows and of old Macintoshes become `\n`. */
const lineBreaks = (text: string): string => text.replace(/\r\n?/g, "\n");

function guess(bytes: Buffer): string {
  const named = META.exec(bytes.subarray(0, META_BYTES).toString("latin1"))?.[1];
  if (named !== undefined && !/^utf-?8$/i.test(named)) return named;
  return analyse(bytes.subarray(0, SAMPLE_BYTES))[0]?.name ?? "windows-1252";
}

function decoderOf(encoding: string, where: string): { decode(bytes: Buffer): string } {
  try {
    return new TextDecoder(encoding);
  } catch {
    throw notText(where, `the encoding ${encoding}`);
  }
}

const notText = (where: string, got: string): InputError =>
  new InputError({ where, expected: "text", got, remedy: "convert it to UTF-8, or ignore it" });
