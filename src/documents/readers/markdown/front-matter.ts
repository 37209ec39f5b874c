/** Front matter of Markdown: YAML between `---`, TOML between `+++`. */

import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
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
    title: title === undefined || title === null ? undefined : String(title),
    metadata: metadataOf(others),
  };
}

/** Undefined for what is no object: a line between paragraphs may look like front matter. */
function parsed(mark: string, text: string): Readonly<Record<string, unknown>> | undefined {
  if ((text.match(/[&*][^\s,]/g)?.length ?? 0) > MAX_ALIASES) return undefined;
  try {
    const value: unknown =
      mark === "---"
        ? parseYaml(text, { maxAliasCount: 100, logLevel: "silent" })
        : parseToml(text);
    if (value === null) return {};
    const isObject = typeof value === "object" && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
