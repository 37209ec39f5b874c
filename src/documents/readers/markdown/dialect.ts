/** The Markdown that people write: CommonMark and what GitHub, Docusaurus and others add to it. */

import createMarkdownIt, {
  type MarkdownIt,
  type StateBlock,
  type StateCore,
  type StateInline,
} from "markdown-it";
import definitions from "markdown-it-deflist";
import { admonitions } from "./admonitions.ts";
import { lineOf } from "./block-rules.ts";
import { footnotes } from "./footnotes.ts";
import { gridTables } from "./grid-table.ts";
import { marks } from "./marks.ts";

/** Characters of a JSX tag. */
const MAX_TAG_LENGTH = 5_000;

let markdown: MarkdownIt | undefined;
let mdx: MarkdownIt | undefined;

export const createMarkdown = (): MarkdownIt => {
  markdown ??= newDialect();
  return markdown;
};

/** Markdown with imports, exports and components, whose contents are Markdown. */
export const createMdx = (): MarkdownIt => {
  if (mdx) return mdx;
  mdx = newDialect();
  mdx.disable(["html_block", "code"]);
  mdx.block.ruler.before("paragraph", "mdx_module", moduleLines, { alt: [] });
  mdx.inline.ruler.before("html_inline", "jsx", jsxTag);
  return mdx;
};

function newDialect(): MarkdownIt {
  const md = createMarkdownIt({ html: true });
  md.use(definitions).use(footnotes).use(admonitions).use(marks).use(gridTables);
  md.core.ruler.after("block", "heading_ids", headingIds);
  return md;
}

/** `# Title {#id}` */
function headingIds({ tokens }: StateCore): void {
  for (const [i, token] of tokens.entries())
    if (token.type === "inline" && tokens[i - 1]?.type === "heading_open")
      token.content = withoutAttributes(token.content);
}

function withoutAttributes(heading: string): string {
  const at = heading.lastIndexOf("{");
  const isAttributes = at !== -1 && /^\{:?\s?[#.][^{}]*\}\s*$/.test(heading.slice(at));
  return isAttributes ? heading.slice(0, at).trimEnd() : heading;
}

/** `import` and `export` of MDX, up to a blank line. */
function moduleLines(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (state.level > 0 || !/^(?:import|export)[\s{*]/.test(lineOf(state, start))) return false;
  if (isSilent) return true;
  state.line = start;
  while (state.line < end && !state.isEmpty(state.line)) state.line++;
  return true;
}

/** What a component shows beside its contents: the name of a tab, the title of a note. */
const LABEL = /\s(?:label|title)=(?:"([^"]{1,200})"|'([^']{1,200})')/;

/** A tag of a component, or one with an expression; its text is outside of it. */
function jsxTag(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  if (src[pos] !== "<" || !/^<\/?[A-Za-z_$>]/.test(src.slice(pos, pos + 3))) return false;
  const end = tagEnd(src, pos);
  if (end === undefined) return false;
  const tag = src.slice(pos, end);
  if (!/^<\/?[A-Z_$>]/.test(tag) && !tag.includes("{")) return false; // HTML
  if (!isSilent) {
    const token = state.push("html_inline", "", 0);
    const [, quoted, label = quoted] = LABEL.exec(tag) ?? [];
    token.content = label === undefined ? " " : ` ${state.md.utils.escapeHtml(label)}: `;
  }
  state.pos = end;
  return true;
}

/** The position after the `>` of a tag, outside of quotes and braces. */
function tagEnd(src: string, start: number): number | undefined {
  let depth = 0;
  let quote = "";
  const limit = Math.min(src.length, start + MAX_TAG_LENGTH);
  for (let at = start + 1; at < limit; at++) {
    const character = src[at]!;
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === '"' || character === "'" || character === "`") quote = character;
    else if (character === "{") depth++;
    else if (character === "}") depth--;
    else if (character === ">" && depth <= 0) return at + 1;
  }
  return undefined;
}
