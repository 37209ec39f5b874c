/** The macros of man(7). Source: man(7), groff_man(7). */

import type { Element } from "../../tree/markup.ts";
import type { Layout } from "./layout.ts";
import { argumentsOf, type Roff, type RoffLine } from "./roff.ts";
import { tableOf } from "./table.ts";

/** Fonts, whose arguments are one text: `.B` puts spaces between them, `.BR` does not. */
const FONTS = /^(?:B|I|SM|SB|R|CW|nop|ul|cu|bd)$/;
const TWO_FONTS = /^(?:BI|BR|IB|IR|RB|RI)$/;
const BREAKS = /^(?:br|ti|in|ce|rj|brp|fc|ta)$/;
/** Requests that print nothing. */
const SILENT =
  /^(?:AT|DT|PD|UC|IX|XX|ad|af|bp|c2|cc|ch|cflags|char|color|cs|defcolor|do|ds|ec|em|eo|ev|evc|fallback|fam|fchar|fp|ft|hc|hcode|hla|hlm|hpf|hw|hy|hys|it|itc|kern|lc|lf|lg|ll|ls|lt|mc|mk|mso|na|ne|nh|nm|nn|ns|nx|open|output|pc|pi|pl|pm|pn|po|ps|pso|ptr|rchar|rd|rs|rt|rn|als|aln|so|special|sizes|ss|style|sv|sy|tc|tl|tm|tm1|trf|uf|vs|warn|wh|write|ab|ex|rr|rm|return|shift|break|continue|substring|length|chop|backtrace|device|devicem|hym|box|boxa|di|da|TA)$/;
const BULLET = /^[•*+·o−–—-]$/;
const NUMBER = /^\(?(?:\d{1,3}|[a-z])[.)]$/i;
/** What DocBook writes for an item: a mark that is moved to the left of the text. */
const MOVED_MARK = /^\s*\\h'-0?\d+'\s?(\\\(bu|\d{1,3}\.)\\h'\+0?\d+'\\c\s*$/;

export class ManPage {
  title = "";
  readonly #roff: Roff;
  readonly #layout: Layout;
  /** The address of a link, which stands behind its text. */
  #address = "";

  constructor(roff: Roff, layout: Layout) {
    this.#roff = roff;
    this.#layout = layout;
  }

  /** Macros that keep their meaning, whatever a file says. */
  static isBuiltIn(name: string): boolean {
    return /^(?:TH|SH|SS|TP|TQ|IP|PP|LP|P|HP|RS|RE|EX|EE|nf|fi|UR|UE|MT|ME|SY|YS|OP)$/.test(name);
  }

  add(given: RoffLine): void {
    const { name, text, line } = given;
    if (given.table) this.#table(given.table, line);
    else if (name !== undefined) this.#macro(name, given);
    else {
      const [, mark] = MOVED_MARK.exec(text) ?? [];
      if (mark !== undefined) this.#layout.item(mark === "\\(bu" ? "-" : mark, line);
      else this.#text(text, line);
    }
  }

  #text(source: string, line: number): void {
    const { text, isJoined } = this.#roff.shown(source);
    const isTerm = this.#layout.isTerm;
    if (isTerm && text.trim() === "") return;
    // a line of escapes alone is none
    if (text.trim() !== "" || source.trim() === "") this.#layout.text(text, line);
    if (isJoined) this.#layout.join();
    else if (isTerm) this.#layout.endTerm();
  }

  #macro(name: string, given: RoffLine): void {
    const { args, text, line } = given;
    const layout = this.#layout;
    if (FONTS.test(name)) this.#shown(args.join(" "), line);
    else if (TWO_FONTS.test(name)) this.#shown(args.join(""), line);
    else if (name === "SH" || name === "SS") this.#heading(name === "SH" ? 1 : 2, args, line);
    else if (name === "TH") this.title = this.#title(args);
    else if (/^(?:PP|LP|P|HP)$/.test(name)) layout.paragraph();
    else if (name === "TP" || name === "TQ") layout.beginTerm(line);
    else if (name === "IP") this.#item(args, line);
    else if (name === "RS") layout.indent();
    else if (name === "RE") layout.outdent();
    else if (name === "sp") layout.endParagraph();
    else if (name === "nf" || name === "EX") layout.fill(false);
    else if (name === "fi" || name === "EE") layout.fill(true);
    else if (BREAKS.test(name)) layout.break();
    else if (/^(?:UR|MT|UE|ME|SY|YS|OP)$/.test(name)) this.#special(name, args, line);
    else if (!SILENT.test(name) && text.trim() !== "") this.#text(args.join(" "), line);
  }

  /** The arguments of a font. Without one, the next line has the font. */
  #shown(text: string, line: number): void {
    if (text !== "") this.#text(text, line);
  }

  #heading(level: number, args: readonly string[], line: number): void {
    this.#layout.heading(level, this.#plain(args.join(" ")), line);
  }

  #title([name = "", section = ""]: readonly string[]): string {
    const plain = this.#plain(name);
    return section === "" ? plain : `${plain}(${this.#plain(section)})`;
  }

  /** A term with its definition, an item of a list, or a further paragraph of one. */
  #item([tag = ""]: readonly string[], line: number): void {
    const shown = this.#plain(tag).trim();
    if (shown === "") this.#layout.endParagraph();
    else if (BULLET.test(shown)) this.#layout.item("-", line);
    else if (NUMBER.test(shown)) this.#layout.item(shown, line);
    else {
      this.#layout.beginTerm(line);
      this.#layout.text(shown, line);
      this.#layout.endTerm();
    }
  }

  /** Links, and the synopsis of a command. */
  #special(name: string, args: readonly string[], line: number): void {
    const layout = this.#layout;
    if (name === "UR" || name === "MT") this.#address = this.#plain(args.join(" "));
    else if (name === "UE" || name === "ME") {
      const [after = ""] = args;
      this.#text(`<${this.#address}>${after}`, line);
    } else if (name === "OP") this.#text(`[${args.join(" ")}]`, line);
    else {
      layout.endParagraph();
      if (name === "SY") this.#shown(args.join(" "), line);
    }
  }

  #plain(source: string): string {
    return this.#roff.shown(source).text;
  }

  #table(lines: readonly string[], line: number): void {
    this.#layout.endParagraph();
    for (const table of tableOf(lines, line, (source) => this.#cell(source)))
      this.#layout.add(table satisfies Element);
  }

  /** A line of a cell, which can call a font. */
  #cell(source: string): string {
    const [, name, rest = ""] = /^[.'][ \t]*([A-Za-z]+)[ \t]*([\s\S]*)$/.exec(source) ?? [];
    if (name === undefined) return this.#plain(source);
    if (SILENT.test(name) || BREAKS.test(name) || /^(?:sp|nf|fi|PP|LP|P)$/.test(name)) return "";
    const words = argumentsOf(rest);
    return this.#plain(words.join(TWO_FONTS.test(name) ? "" : " "));
  }
}
