/**
 * Decodes text of unknown encoding: by its byte order mark, by the encoding that it names, as
 * UTF-8, or by statistics. Encodings have the names and the tables of the Encoding Standard.
 *
 * Source: https://encoding.spec.whatwg.org; XML 1.0, appendix F; HTML Standard, 13.2.3.2.
 */

import { isUtf8 } from "node:buffer";
import { labelToName, legacyHookDecode } from "@exodus/bytes/encoding.js";
import { analyse } from "chardet";
import { InputError } from "../../io/errors.ts";

export interface DecodingChoices {
  readonly where: string;
  /** The encoding that the user names. A byte order mark counts more. */
  readonly encoding?: string | undefined;
  /** Is called for a guess that may be wrong. */
  readonly report: (problem: InputError) => void;
}

/** Bytes of which the encoding is guessed. */
const SAMPLE_BYTES = 65_536;
/** Bytes in which a zero byte means that the file is not text, as in git. */
const BINARY_BYTES = 8_192;
/** Bytes in which HTML names its encoding. */
const META_BYTES = 1_024;
const META = /<meta[^<>]{0,200}?charset\s{0,20}=\s{0,20}["']?([\w-]{1,40})/i;
const XML = /^<\?xml[^<>]{0,200}?encoding\s{0,20}=\s{0,20}["']([\w.-]{1,40})/;
/** A text is UTF-8 if it has characters of several bytes, and at most this share of bad bytes. */
const BAD_SHARE = 0.02;
/** The confidence of chardet from which its guess needs no message. */
const CERTAIN = 80;

/** Baltic, Turkish and Vietnamese, whose letters are those of windows-1252 but for a few. */
const RARE = /^(?:windows-125[478]|ISO-8859-9)$/;
const SIMILAR = 25;

/** The more specific mark first: UTF-32 begins as UTF-16 does. */
const MARKS: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xff, 0xfe, 0, 0], "utf-32le"],
  [[0, 0, 0xfe, 0xff], "utf-32be"],
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xff, 0xfe], "utf-16le"],
  [[0xfe, 0xff], "utf-16be"],
];

/** @throws {InputError} if the bytes are not text */
export function decodeText(bytes: Buffer, choices: DecodingChoices): string {
  const mark = MARKS.find(([mark]) => mark.every((byte, i) => bytes[i] === byte));
  const encoding = mark?.[1] ?? choices.encoding ?? namedIn(bytes) ?? unmarked(bytes, choices);
  return decoded(bytes, encoding, choices.where).replace(/\r\n?/g, "\n");
}

function decoded(bytes: Buffer, encoding: string, where: string): string {
  if (/^utf-?32/i.test(encoding)) return decodeUtf32(bytes, /be$/i.test(encoding));
  if (/^utf-?8$/i.test(encoding)) return bytes.toString("utf8").replace(/^\ufeff/, "");
  const name = labelToName(encoding);
  if (name === null || name === "replacement") throw notText(where, `the encoding ${encoding}`);
  return legacyHookDecode(bytes, name);
}

/** The encoding that HTML or XML names. It must be one that extends ASCII, as it was read. */
function namedIn(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, META_BYTES).toString("latin1").trimStart();
  if (!head.startsWith("<")) return undefined; // a text about HTML may have a charset too
  const named = XML.exec(head)?.[1] ?? META.exec(head)?.[1];
  return named && isEncoding(named) && !/^utf-?(?:8|16|32)/i.test(named) ? named : undefined;
}

function unmarked(bytes: Buffer, { where, report }: DecodingChoices): string {
  const head = bytes.subarray(0, BINARY_BYTES);
  if (head.includes(0)) return wideEncoding(head) ?? fail(notText(where, "a binary file"));
  if (bytes.includes(0x1b) && isIso2022(bytes)) return "iso-2022-jp";
  if (isUtf8(bytes)) return "utf-8";
  if (isMostlyUtf8(bytes)) {
    report(guessed(where, "UTF-8", "a few bytes that are not, which are read as \ufffd"));
    return "utf-8";
  }
  const { name, confidence } = likeliest(bytes.subarray(0, SAMPLE_BYTES));
  if (confidence < CERTAIN)
    report(
      guessed(where, "a text that names its encoding, or UTF-8", `bytes that look like ${name}`),
    );
  return name;
}

/** The encoding that statistics suggest. Of similar ones, the one of most languages. */
function likeliest(sample: Buffer): { name: string; confidence: number } {
  const all = analyse(sample).filter(
    ({ name }) => isEncoding(name) && !/^(?:utf|ascii)/i.test(name),
  );
  const best = all[0] ?? { name: "windows-1252", confidence: 0 };
  if (!RARE.test(best.name)) return best;
  const usual = all.find(({ name }) => name === "windows-1252" || name === "ISO-8859-1");
  return usual && usual.confidence >= best.confidence - SIMILAR ? usual : best;
}

const EAST_ASIAN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef \n\r\w]/gu;
const EAST_ASIAN_SHARE = 0.95;
/** The share of zero bytes of a text with many Latin letters, which look Chinese in reverse. */
const MOSTLY_LATIN = 0.25;

/** UTF-16 without a mark: every second byte of spaces, line breaks and Latin letters is zero. */
function wideEncoding(head: Buffer): "utf-16le" | "utf-16be" | undefined {
  const zeros = [0, 0];
  for (const [i, byte] of head.entries()) if (byte === 0) zeros[i & 1]!++;
  const [even, odd] = zeros as [number, number];
  const encoding = odd > even ? "utf-16le" : "utf-16be";
  const decode = (name: string): string =>
    legacyHookDecode(head.subarray(0, head.length & ~3), name);
  const most = Math.max(even, odd);
  const eastAsian = (["utf-16le", "utf-16be"] as const).find((name) => isEastAsian(decode(name)));
  if (most < MOSTLY_LATIN * head.length && eastAsian) return eastAsian;
  if (Math.min(even, odd) > 0.1 * most || most < 0.01 * head.length) return undefined;
  return /(?![\t\n\f\r])\p{Cc}|\p{Cn}/u.test(decode(encoding)) ? undefined : encoding;
}

/** Of random bytes, six in ten are letters of East Asia. */
function isEastAsian(text: string): boolean {
  const letters = text.match(EAST_ASIAN)?.length ?? 0;
  return letters > EAST_ASIAN_SHARE * text.length;
}

/** Escape sequences of ISO-2022-JP, and no byte above 127. */
function isIso2022(bytes: Buffer): boolean {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const has = (sequence: string): boolean => sample.includes(`\u001b${sequence}`);
  return ["$@", "$B", "(I", "(J"].some(has) && sample.every((byte) => byte < 0x80);
}

/** Whether almost all bytes above 127 belong to characters of UTF-8. */
function isMostlyUtf8(bytes: Buffer): boolean {
  const text = bytes.subarray(0, 16 * SAMPLE_BYTES).toString("utf8");
  let [bad, good] = [0, 0];
  for (const character of text) {
    if (character === "\ufffd") bad++;
    else if (character > "\x7f") good++;
  }
  return good > 0 && bad <= Math.max(1, BAD_SHARE * good) && good > bad;
}

function decodeUtf32(bytes: Buffer, isBigEndian: boolean): string {
  const characters: string[] = [];
  for (let at = 4; at + 4 <= bytes.length; at += 4) {
    const code = isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
    characters.push(code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd");
  }
  return characters.join("");
}

/** Whether the Encoding Standard knows an encoding of this name. */
export const isEncoding = (name: string): boolean =>
  ![null, "replacement"].includes(labelToName(name)) || /^utf-?32(?:le|be)$/i.test(name);

function fail(error: InputError): never {
  throw error;
}

const guessed = (where: string, expected: string, got: string): InputError =>
  new InputError({ where, expected, got, remedy: "give --encoding if it is read wrongly" });

const notText = (where: string, got: string): InputError =>
  new InputError({ where, expected: "text", got, remedy: "convert it to UTF-8, or ignore it" });
