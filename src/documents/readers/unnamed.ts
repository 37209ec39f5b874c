/** Files whose name has no ending: source code, HTML, JSON, settings or plain text. */

import { basename } from "node:path";
import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { lineTable } from "../tree/line-table.ts";
import { read as readCode } from "./code.ts";
import { read as readHtml } from "./html.ts";
import { read as readJson } from "./json.ts";
import { areSettings, read as readSettings } from "./settings.ts";
import { read as readText } from "./text.ts";

/** Names of files that programs run. */
const PROGRAM =
  /^(?:(?:GNU)?makefile|(?:docker|container|jenkins|rake|gem|vagrant|proc|just|snake)file|SConstruct|SConscript)$/i;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const reader = readerOf(basename(file.name).replace(/\.gz$/i, ""), text);
  yield* reader({ ...file, text: async () => text }); // it is read once
}

function readerOf(name: string, text: string): (file: SourceFile) => AsyncGenerator<Document> {
  if (PROGRAM.test(name) || text.startsWith("#!")) return readCode;
  const start = text.trimStart().slice(0, 1_000);
  if (/^<(?:!doctype html|html)\b/i.test(start)) return readHtml;
  if (/^(?:\{\s*"|\[\s*[[{"])/.test(start)) return readJson;
  return lineTable(text) === undefined && areSettings(text) ? readSettings : readText;
}
