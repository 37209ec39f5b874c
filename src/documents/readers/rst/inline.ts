/** Inline markup of reStructuredText as plain text. */

import { element, type Node, text } from "../../tree/html-tree.ts";

/** `|name|` -> the text that it stands for. */
export type Substitutions = ReadonlyMap<string, string>;

// The limits keep the time linear.
const MARKUP = new RegExp(
  [
    "(?<literal>``[^`]{1,1000}``)",
    "(?::(?<role>[\\w:.+-]{1,60}):)?`(?<interpreted>[^`]{1,1000})`(?::(?<suffix>[\\w.+-]{1,60}):(?![`\\w])|_{0,2})",
    "(?<![\\p{L}\\p{N}*])\\*\\*(?<strong>[^*\\s](?:[^*\\n]{0,500}[^*\\s])?)\\*\\*(?![\\p{L}\\p{N}*])",
    // `*.txt` and `*args, **kwargs` have stars of their own
    "(?<![\\p{L}\\p{N}*])\\*(?<emphasis>[^*\\s.](?:[^*\\n]{0,500}[^*\\s])?)\\*(?![\\p{L}\\p{N}*])",
    "\\[(?<note>[\\w#*.-]{1,50})\\]_(?![\\p{L}\\p{N}])",
    "\\|(?<substitution>[^|\\n]{1,100})\\|_{0,2}",
    "(?<reference>(?<![\\p{L}\\p{N}_])[\\p{L}\\p{N}](?:[\\p{L}\\p{N}.-]{0,60}[\\p{L}\\p{N}])?)_{1,2}(?![\\p{L}\\p{N}_])",
    "\\\\(?<escaped>[\\s\\S]|$)",
  ].join("|"),
  "gu",
);

/** The nodes of a text. Line breaks stay, so that lines can be counted. */
export function inlineNodes(source: string, line: number, substitutions: Substitutions): Node[] {
  const nodes: Node[] = [];
  let [plain, start, at] = ["", line, line];
  const add = (part: string): void => {
    plain += part;
    at += part.split("\n").length - 1;
  };
  const end = (): void => {
    if (plain !== "") nodes.push(text(plain, start));
    [plain, start] = ["", at];
  };
  let last = 0;
  for (const match of source.matchAll(MARKUP)) {
    add(source.slice(last, match.index));
    last = match.index + match[0].length;
    const { suffix = "", role = suffix, interpreted } = match.groups!;
    const script = /(?:^|:)(?:sup|superscript)$/.test(role)
      ? "sup"
      : /(?:^|:)(?:sub|subscript)$/.test(role)
        ? "sub"
        : "";
    if (script !== "" && interpreted !== undefined) {
      end();
      nodes.push(element(script, [text(interpreted, at)]));
    } else if (interpreted !== undefined) add(shownOf(interpreted, role));
    else add(plainText(match.groups!, substitutions));
  }
  add(source.slice(last));
  end();
  return nodes;
}

function plainText(
  groups: Readonly<Record<string, string | undefined>>,
  known: Substitutions,
): string {
  const { literal, strong, emphasis, substitution, reference, escaped, note } = groups;
  if (literal !== undefined) return literal.slice(2, -2);
  if (note !== undefined) return ""; // the note itself is read where it stands
  if (substitution !== undefined) return known.get(substitution) ?? `|${substitution}|`;
  if (escaped !== undefined) return /\s/.test(escaped) ? "" : escaped;
  return strong ?? emphasis ?? reference ?? "";
}

/** What a role shows of its text. */
function shownOf(given: string, role: string): string {
  const shown = withoutTarget(given);
  switch (role.slice(role.lastIndexOf(":") + 1)) {
    case "pep":
    case "rfc":
      return shown === given ? `${role.toUpperCase()} ${given}` : shown;
    case "guilabel":
    case "menuselection":
      return shown.replace(/&(.)/g, "$1"); // the key that opens it
    case "file":
    case "samp":
      return shown.replace(/[{}]/g, "");
    default:
      return role === "" ? shown : shown.replace(/^!/, "");
  }
}

/** `text <target>` -> `text`, and `~module.name` -> `name`. */
function withoutTarget(given: string): string {
  const start = given.lastIndexOf("<");
  const isTarget = start > 0 && given.endsWith(">") && /\s/.test(given[start - 1]!);
  if (isTarget) return given.slice(0, start).trim();
  return given.startsWith("~") ? given.slice(given.lastIndexOf(".") + 1) : given;
}
