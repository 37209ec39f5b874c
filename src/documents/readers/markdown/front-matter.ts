/** Front matter of Markdown: YAML between `---`, TOML between `+++`. */

import { parse as parseToml } from "smol-toml";
import { isScalar, type Pair, parseDocument, visit } from "yaml";
import type { Metadata } from "../../../text/passage.ts";
import { metadataOf } from "../../../text/record-fields.ts";

/** Anchors and aliases of YAML; front matter has none, and a parser needs long for many. */
const MAX_ALIASES = 50;
/** The longest front matter; `---` in a longer text is a line between paragraphs. */
const MAX_LENGTH = 65_536; // characters

export interface FrontMatter {
  /** Lines of the file that it takes, with its marks. */
  readonly lines: number;
  readonly title: string | undefined;
  readonly metadata: Metadata;
}

/** The front matter of a text. Without one that can be parsed, it has no lines. */
export function frontMatter(text: string): FrontMatter {
  const none = { lines: 0, title: undefined, metadata: {} };
  const mark = /^(---|\+\+\+)[ \t]*\n/.exec(text)?.[1];
  if (mark === undefined) return none;
  const head = text.slice(0, MAX_LENGTH);
  const end = (mark === "---" ? /\n(?:---|\.\.\.)[ \t]*(?:\n|$)/g : /\n\+\+\+[ \t]*(?:\n|$)/g).exec(
    head,
  );
  if (!end) return none;
  const fields = parsed(mark, head.slice(head.indexOf("\n") + 1, end.index + 1));
  if (fields === undefined) return none;
  const lines = head.slice(0, end.index + 1).split("\n").length;
  const { title, ...others } = fields;
  return {
    lines,
    title: isTitle(title) ? String(title) : undefined,
    metadata: metadataOf(others),
  };
}

/** A title that is a list or an object, as `{{ title }}` of a template, says nothing. */
const isTitle = (value: unknown): boolean =>
  ["string", "number", "boolean"].includes(typeof value) || value instanceof Date;

/** Undefined for what is no object: a line between paragraphs may look like front matter. */
function parsed(mark: string, text: string): Readonly<Record<string, unknown>> | undefined {
  if ((text.match(/[&*][^\s,]/g)?.length ?? 0) > MAX_ALIASES) return undefined;
  try {
    const value: unknown = mark === "---" ? yamlOf(text) : parseToml(text);
    if (value === null) return {};
    const isObject = typeof value === "object" && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return mark === "---" ? plainFields(text) : undefined;
  }
}

/** The fields of lines `name: value` that are no YAML, as they are written. */
function plainFields(text: string): Readonly<Record<string, string>> | undefined {
  const fields: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^([\w-]{1,100}):(?:[ \t](.*))?$/.exec(line) ?? [];
    if (name !== undefined) fields[name] = value.trim();
    else if (line.trim() !== "" && !/^(?:[ \t]|- |#)/.test(line)) return undefined;
  }
  return fields;
}

/** `title: Harbour: a guide`, which YAML refuses, and people write. */
const COLON_IN_VALUE = /^([\w-]+:[ \t]+)([^\s"'[\]{}&*!|>%@`#][^\n]*:(?:[ \t][^\n]*)?)$/gm;

/** The value of YAML. Numbers that are not written as a number is are text: `007`, `1.10`. */
function yamlOf(text: string): unknown {
  const quoted = text.replace(COLON_IN_VALUE, (line, name: string, written: string) => {
    const value = written.split(/\s#/, 1)[0]!.trim(); // without its comment
    return /:(?:\s|$)/.test(value) ? name + JSON.stringify(value) : line;
  });
  // the parser compares each key with all before it
  const document = parseDocument(quoted, { logLevel: "silent", uniqueKeys: false });
  if (document.errors[0]) throw document.errors[0];
  visit(document, {
    Map: (_, { items }) => checkUnique(items),
    Scalar(_, node) {
      const { value, source } = node;
      if (typeof value === "number" && source !== String(value)) node.value = source;
    },
  });
  return document.toJS({ maxAliasCount: 100 });
}

/** @throws {Error} for a key that is there twice, as the parser does */
function checkUnique(items: readonly Pair[]): void {
  const known = new Set<unknown>();
  for (const { key } of items) {
    const value = isScalar(key) ? key.value : key;
    if (known.has(value)) throw new Error("a key twice");
    known.add(value);
  }
}
