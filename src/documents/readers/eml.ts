/** E-mail (.eml): sender, recipients, date and subject, and the text of the message. */

import PostalMime, { type Address } from "postal-mime";
import { InputError } from "../../io/errors.ts";
import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { Outline } from "../tree/outline.ts";
import { addHtml } from "./html.ts";
import { paragraphs } from "./text.ts";

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
  const mail = await PostalMime.parse(bytes, LIMITS).catch((cause: Error) => {
    throw /^Maximum /.test(cause.message) ? tooLarge(file.path, cause) : cause;
  });
  const outline = new Outline();
  if (mail.text?.trim())
    for (const { lines: _, text, ...details } of paragraphs(mail.text.replace(/\r\n?/g, "\n"))) {
      const { headings: _, ...own } = details;
      outline.text(text, own);
    }
  else if (mail.html) await addHtml(mail.html, outline, file.budget, () => 0);
  const leftOut = new LeftOut();
  for (const { disposition } of mail.attachments)
    if (disposition !== "inline") leftOut.add("attachment");
  leftOut.report(file);
  const people = (list: readonly Address[] = []): string[] =>
    list.map(({ name, address }) =>
      name && address ? `${name} <${address}>` : name || address || "",
    );
  const to = people(mail.to).concat(people(mail.cc));
  yield {
    ...outline.document(mail.subject ?? ""),
    metadata: {
      ...(mail.from && { from: people([mail.from])[0]! }),
      ...(to.length > 0 && { to }),
      ...(mail.date && { date: mail.date }),
    },
  };
}
