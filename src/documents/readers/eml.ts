/**
 * E-mail (.eml): sender, recipients, date and subject, and the text of the message.
 *
 * Source: RFC 5322 (message), RFC 2045 (types), Encoding Standard (the meaning of charsets).
 */

import { isUtf8 } from "node:buffer";
import { legacyHookDecode } from "@exodus/bytes/encoding.js";
import PostalMime, { type Address, type Email } from "postal-mime";
import { InputError } from "../../io/errors.ts";
import { isEncoding } from "../file/encoding.ts";
import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Block, Document } from "../tree/document.ts";
import { Outline } from "../tree/outline.ts";
import { paragraphs } from "../tree/plain-text.ts";
import { addHtml } from "./html.ts";

/** A text that has less than this share of the words of the HTML is a placeholder. */
const MIN_SHARE = 0.5;

/** Parts inside each other, and bytes of all headers. */
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 2 ** 21 };

const tooLarge = (where: string, cause: Error): InputError =>
  new InputError(
    {
      where,
      expected: "a message with at most 50 parts inside each other and 2 MB of headers",
      got: cause.message,
      remedy: "save the parts as files of their own, or ignore the file",
    },
    { cause },
  );

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const bytes = await file.bytes();
  const source = repaired(bytes.toString("latin1"), isUtf8(bytes));
  const mail = await PostalMime.parse(encoded(source, file), LIMITS).catch((cause: Error) => {
    throw /^Maximum /.test(cause.message) ? tooLarge(file.path, cause) : cause;
  });
  const leftOut = new LeftOut();
  for (const { disposition } of mail.attachments)
    if (disposition !== "inline") leftOut.add("attachment");
  leftOut.report(file);
  reportCharsets(source, file);
  const people = (list: readonly Address[] = []): string[] =>
    list.map(({ name, address }) =>
      decoded(name && address ? `${name} <${address}>` : name || address || ""),
    );
  const to = people(mail.to).concat(people(mail.cc));
  const outline = await message(mail, /\bformat="?flowed/i.test(source), file);
  yield {
    ...outline.document(decoded(mail.subject ?? "")),
    metadata: {
      ...(mail.from && { from: people([mail.from])[0]! }),
      ...(to.length > 0 && { to }),
      ...(mail.date && { date: mail.date }),
    },
  };
}

/** The text of a mail, or the HTML if the text says less. */
async function message(mail: Email, isFlowed: boolean, file: SourceFile): Promise<Outline> {
  const text = new Outline();
  const plain = decoded(mail.text ?? "").replace(/\r\n?/g, "\n");
  const shown = isFlowed ? plain.replace(/^>.*$/gm, unquoted) : plain;
  for (const { lines: _, headings: __, text: own, ...details } of paragraphs(shown))
    text.text(own, details);
  if (!mail.html) return text;
  const html = new Outline();
  await addHtml(decoded(mail.html), html, file.budget, () => 0);
  const [all, some] = [wordsOf(html.allBlocks()), wordsOf(text.allBlocks())];
  const common = [...all].filter((word) => some.has(word)).length;
  return common < MIN_SHARE * all.size ? html : text;
}

const wordsOf = (blocks: readonly Block[]): ReadonlySet<string> =>
  new Set(blocks.flatMap(({ text }) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []));

/** Lines of a quotation that are joined keep the mark of each line. */
const unquoted = (line: string): string => line.replace(/ > ?/g, " ");

/**
 * Characters U+0080 to U+009F are those of windows-1252. The Encoding Standard says so for
 * iso-8859-1 and us-ascii; Node 20 and 22 decode windows-1252 as iso-8859-1.
 */
const decoded = (text: string): string =>
  text.replace(/[\u0080-\u009f]+/g, (controls) =>
    legacyHookDecode(Buffer.from(controls, "latin1"), "windows-1252"),
  );

const TYPE = /^(content-type:[ \t]*)([^;\r\n]*)((?:[^\n]*\n[ \t])*[^\n]*)/gim;
/** A line of a header, or its continuation. The first one can be that of a mailbox. */
const HEADER = /^(?:[!-9;-~]+[ \t]*:|[ \t]|>?From )/;

/** Characters of a page in which it names its charset. */
const HEAD_LENGTH = 4_096;
const META = /<meta[^<>]{0,200}?charset=(?:3D)?\s{0,20}["']?([\w-]{1,40})/i;

/**
 * The type of a part as parsers know it: `text` is plain text, as are Markdown and several parts
 * without a boundary. A page in another encoding than UTF-8 can name it itself.
 */
function typeOf(type: string, parameters: string, source: string, end: number): string {
  const name = type.trim().toLowerCase();
  if (name === "" || (name === "text/html" && CHARSET.test(parameters))) return type;
  if (name === "text/html") {
    const [, charset] = META.exec(source.slice(end, end + HEAD_LENGTH)) ?? [];
    return charset === undefined ? type : `${type}; charset=${charset}`;
  }
  const isKnown =
    /^[\w.+-]+\/[\w.+-]+/.test(name) && !/^text\/(?:x-)?(?:markdown|enriched)$/.test(name);
  const isWhole = !name.startsWith("multipart/") || /\bboundary\*?\d?\*?=/i.test(parameters);
  return isKnown && isWhole ? type : "text/plain";
}

/** A message with the types that parsers know, and a blank line below the headers. */
function repaired(source: string, isUtf8: boolean): string {
  const typed = source.replace(
    TYPE,
    (all, name: string, type: string, parameters: string, at: number) =>
      isUtf8 && /html/i.test(type)
        ? all
        : name + typeOf(type, parameters, source, at + all.length) + parameters,
  );
  for (let start = 0; start < typed.length; ) {
    const end = typed.indexOf("\n", start);
    const line = typed.slice(start, end === -1 ? typed.length : end);
    if (line.trim() === "") return typed;
    if (!HEADER.test(line)) return `${typed.slice(0, start)}\r\n${typed.slice(start)}`;
    start = end === -1 ? typed.length : end + 1;
  }
  return typed;
}

/** The lines of a header, or of one that goes on. */
const TYPE_LINES = /^(?:content-type:|[ \t])[^\n]{0,1000}/gim;
const CHARSET = /charset[ \t]?=[ \t]?"?([\w.:-]{1,60})/i;

function* charsetsOf(source: string): Generator<string> {
  for (const { 0: line } of source.matchAll(TYPE_LINES)) {
    const charset = CHARSET.exec(line)?.[1];
    if (charset !== undefined) yield charset;
  }
}

/** The bytes of a message. Without a charset that says what they are, they are guessed. */
function encoded(source: string, file: SourceFile): Buffer {
  const bytes = Buffer.from(source, "latin1");
  const isNamed = [...charsetsOf(source)].some((name) => !/^utf-?8$/i.test(name));
  return isNamed || isUtf8(bytes) ? bytes : Buffer.from(file.decode(bytes));
}

/** Names that parsers of mail know besides those of the Encoding Standard. */
const KNOWN = /^(?!utf-?7)(?:x-)?(?:cp|ms|ibm|windows|iso|utf|euc|shift|big|koi)[-_]?\w/i;

function reportCharsets(source: string, file: SourceFile): void {
  const unknown = [...new Set(charsetsOf(source))].filter(
    (name) => !isEncoding(name) && !KNOWN.test(name),
  );
  if (unknown.length === 0) return;
  file.report(
    new InputError({
      where: file.path,
      expected: "a charset of the Encoding Standard",
      got: unknown.join(", "),
      remedy: "the text is read as windows-1252; save the message as UTF-8 if it is wrong",
    }),
  );
}
