/** The macros of mdoc(7). Source: mdoc(7), groff_mdoc(7). */

import { element, text as textNode } from "../../tree/html-tree.ts";
import type { Element } from "../../tree/markup.ts";
import type { Layout } from "./layout.ts";
import { ManPage } from "./man.ts";
import type { Roff, RoffLine } from "./roff.ts";

const CLOSING = /^[.,:;)\]?!]+$/;
const OPENING = /^[([]$/;
/** What stands around the arguments of a macro. */
const AROUND: Readonly<Record<string, readonly [string, string]>> = {
  Op: ["[", "]"],
  Pq: ["(", ")"],
  Bq: ["[", "]"],
  Brq: ["{", "}"],
  Aq: ["<", ">"],
  Sq: ["‘", "’"],
  Ql: ["‘", "’"],
  Dq: ["“", "”"],
  Qq: ['"', '"'],
  Eq: ["", ""],
};
/** The beginnings and the ends of those that go over several lines. */
const BEGINS: Readonly<Record<string, string>> = {
  Oo: "[",
  Po: "(",
  Bo: "[",
  Bro: "{",
  Ao: "<",
  So: "‘",
  Do: "“",
  Qo: '"',
  Eo: "",
  Xo: "",
};
const ENDS: Readonly<Record<string, string>> = {
  Oc: "]",
  Pc: ")",
  Bc: "]",
  Brc: "}",
  Ac: ">",
  Sc: "’",
  Dc: "”",
  Qc: '"',
  Ec: "",
  Xc: "",
};
const SYSTEMS: Readonly<Record<string, string>> = {
  At: "AT&T UNIX",
  Bsx: "BSD/OS",
  Bx: "BSD",
  Dx: "DragonFly",
  Fx: "FreeBSD",
  Nx: "NetBSD",
  Ox: "OpenBSD",
  Ux: "UNIX",
};
/** Macros of a line, whose arguments are text. */
const INLINE =
  /^(?:Ad|An|Ap|Ar|At|Bsx|Bx|Cd|Cm|Dv|Dx|Em|Er|Ev|Fa|Fl|Fn|Ft|Fx|Ic|In|Lb|Li|Lk|Ms|Mt|Nm|No|Ns|Nx|Ox|Pa|Pf|St|Sx|Sy|Ta|Tn|Ux|Va|Vt|Xr|Fr)$/;
const REFERENCE = /^%[A-Z]$/;
const SILENT = /^(?:Bk|Ek|Bf|Ef|Db|Sm|Os|Dd|Tg|Hf|Es|En|Ud|Bt)$/;

const isMacro = (word: string): boolean =>
  INLINE.test(word) || word in AROUND || word in BEGINS || word in ENDS;

interface OpenList {
  readonly type: string;
  number: number;
  /** Of a list of columns. */
  readonly rows: Element[];
}

export class MdocPage {
  title = "";
  readonly #roff: Roff;
  readonly #layout: Layout;
  /** For the requests of roff itself, which all pages can have. */
  readonly #requests: ManPage;
  readonly #lists: OpenList[] = [];
  /** Displays that are code. */
  readonly #displays: boolean[] = [];
  #name = "";
  #isSynopsis = false;
  /** Of `.It` whose term goes on over several lines. */
  #openTerms = 0;
  /** Between `.Fo` and `.Fc`, and between `.Rs` and `.Re`. */
  #function: { readonly name: string; readonly args: string[] } | undefined;
  #reference: string[] | undefined;

  constructor(roff: Roff, layout: Layout) {
    this.#roff = roff;
    this.#layout = layout;
    this.#requests = new ManPage(roff, layout);
  }

  static isBuiltIn(name: string): boolean {
    return isMacro(name) || /^(?:Sh|Ss|Pp|Bl|It|El|Bd|Ed|Nd|Dl|D1|Fo|Fc|Rs|Re)$/.test(name);
  }

  add(given: RoffLine): void {
    const { name, args, line } = given;
    if (name === undefined || given.table) {
      const list = this.#lists.at(-1);
      if (list?.type === "column" && list.rows.length > 0) this.#cell(given.text, list);
      else this.#requests.add(given);
    } else if (!this.#block(name, args, line) && !this.#phrase(name, args, line))
      this.#requests.add(given);
  }

  /** Sections, lists and displays. Returns false for another macro. */
  #block(name: string, args: readonly string[], line: number): boolean {
    const layout = this.#layout;
    if (name === "Sh" || name === "Ss") this.#heading(name === "Sh" ? 1 : 2, args, line);
    else if (name === "Dt") this.title = `${args[0] ?? ""}(${args[1] ?? ""})`;
    else if (name === "Pp" || name === "Lp") layout.endParagraph();
    else if (name === "Bl") this.#beginList(args);
    else if (name === "It") this.#item(args, line);
    else if (name === "El") this.#endList();
    else if (name === "Bd") {
      this.#displays.push(/^-(?:literal|unfilled)$/.test(args[0] ?? ""));
      layout.endParagraph();
      layout.fill(this.#displays.at(-1) !== true);
    } else if (name === "Ed") {
      this.#displays.pop();
      layout.endParagraph();
      layout.fill(this.#displays.at(-1) !== true);
    } else if (name === "Dl" || name === "D1") {
      layout.endParagraph();
      layout.add(element("pre", [textNode(this.#written([...args]).trim(), line)], {}, line));
    } else return false;
    return true;
  }

  #heading(level: number, args: readonly string[], line: number): void {
    const title = this.#written([...args]);
    this.#isSynopsis = title === "SYNOPSIS";
    this.#lists.length = 0;
    this.#layout.heading(level, title, line);
  }

  #beginList(args: readonly string[]): void {
    const type = args.find((one) => LIST_TYPE.test(one))?.slice(1) ?? "item";
    this.#layout.indent();
    this.#lists.push({ type, number: 0, rows: [] });
  }

  #endList(): void {
    const list = this.#lists.pop();
    if (!list) return;
    this.#layout.endParagraph();
    if (list.rows.length > 0)
      this.#layout.add(element("table", [element("tbody", list.rows)], {}, list.rows[0]!.line));
    this.#layout.outdent();
  }

  #item(args: readonly string[], line: number): void {
    const list = this.#lists.at(-1);
    if (!list || list.type === "item") this.#layout.endParagraph();
    else if (/^(?:bullet|dash|hyphen)$/.test(list.type)) this.#layout.item("-", line);
    else if (list.type === "enum") this.#layout.item(`${++list.number}.`, line);
    else if (list.type === "column") list.rows.push(this.#row(args, line));
    else {
      this.#layout.beginTerm(line);
      this.#openTerms = 0;
      this.#add(args, line);
      if (this.#openTerms === 0) this.#layout.endTerm();
    }
  }

  /** Cells between `Ta`, or tabs. */
  #row(args: readonly string[], line: number): Element {
    const cells: string[][] = [[]];
    for (const arg of args)
      if (arg === "Ta") cells.push([]);
      else
        for (const [i, part] of arg.split("\t").entries()) {
          if (i > 0) cells.push([]);
          if (part !== "") cells.at(-1)!.push(part);
        }
    const made = cells.map((cell) => element("td", [textNode(this.#written(cell), line)]));
    return element("tr", made, {}, line);
  }

  /** A line that belongs to the last cell. */
  #cell(source: string, { rows }: OpenList): void {
    const cell = rows.at(-1)!.children.at(-1);
    const shown = this.#roff.shown(source).text;
    if (cell && "children" in cell) cell.children.push(textNode(` ${shown}`));
  }

  /** A macro of a line. Returns false for another one. */
  #phrase(name: string, args: readonly string[], line: number): boolean {
    if (REFERENCE.test(name)) {
      const text = this.#written([...args]);
      if (this.#reference) this.#reference.push(text);
      else this.#layout.text(text, line);
    } else if (name === "Rs") this.#reference = [];
    else if (name === "Re") {
      const parts = this.#reference ?? [];
      if (parts.length > 0) this.#layout.text(`${parts.join(", ")}.`, line);
      this.#reference = undefined;
    } else if (name === "Fo") this.#function = { name: this.#written([...args]), args: [] };
    else if (name === "Fc") this.#endFunction(args, line);
    else if (name === "Fa" && this.#function) this.#function.args.push(this.#written([...args]));
    else if (name === "Nd") this.#layout.text(`– ${this.#written([...args])}`, line);
    else if (name === "Fd") this.#ownLine(args, line);
    else if (name === "Ex" || name === "Rv") this.#standard(name, args, line);
    else if (SILENT.test(name)) return true;
    else if (isMacro(name)) this.#inline(name, args, line);
    else return false;
    return true;
  }

  #inline(name: string, args: readonly string[], line: number): void {
    if (this.#isSynopsis && /^(?:Nm|Fn|Ft|In|Cd|Vt)$/.test(name)) this.#layout.break();
    if (name === "Nm" && this.#name === "" && args[0] !== undefined)
      this.#name = this.#roff.shown(args[0]).text;
    this.#add([name, ...args], line);
  }

  #ownLine(args: readonly string[], line: number): void {
    this.#layout.break();
    this.#layout.text(this.#written([...args]), line);
    this.#layout.break();
  }

  #endFunction(after: readonly string[], line: number): void {
    const { name, args } = this.#function ?? { name: "", args: [] };
    this.#function = undefined;
    this.#layout.text(`${name}(${args.join(", ")})${after.join("")}`, line);
  }

  #standard(name: string, args: readonly string[], line: number): void {
    const own = args.filter((one) => one !== "-std");
    const names = own.length > 0 ? own.join(", ") : this.#name;
    const text =
      name === "Ex"
        ? `The ${names} utility exits 0 on success, and >0 if an error occurs.`
        : `The ${names}() function returns the value 0 if successful; otherwise the value -1 is ` +
          "returned and the global variable errno is set to indicate the error.";
    this.#layout.text(text, line);
  }

  /** Adds a line of macros and words to the text. */
  #add(args: readonly string[], line: number): void {
    const phrase = this.#phraseOf([...args]);
    const text = phrase.text();
    this.#openTerms += phrase.opened;
    if (text !== "") this.#layout.text(text, line, phrase.joinsLeft);
    if (phrase.joinsRight) this.#layout.join();
    if (this.#layout.isTerm && this.#openTerms <= 0 && args[0] === "Xc") this.#layout.endTerm();
  }

  #written(args: string[]): string {
    return this.#phraseOf(args).text();
  }

  #phraseOf(args: string[]): Phrase {
    const phrase = new Phrase();
    const tail: string[] = [];
    while (args.length > 1 && CLOSING.test(args.at(-1)!)) tail.unshift(args.pop()!);
    const ends: string[] = [];
    for (let at = 0; at < args.length; ) at = this.#word(args, at, phrase, ends);
    for (const end of ends.reverse()) phrase.close(end);
    for (const mark of tail) phrase.close(mark);
    return phrase;
  }

  /** Adds the word or the macro at a position. Returns the position behind it. */
  #word(args: readonly string[], at: number, phrase: Phrase, ends: string[]): number {
    const word = args[at]!;
    const next = args[at + 1];
    const words = (from: number, prefix = ""): number => {
      let end = from;
      for (; end < args.length && !isMacro(args[end]!); end++) {
        const shown = this.#shown(args[end]!);
        phrase.add(CLOSING.test(shown) || OPENING.test(shown) ? shown : prefix + shown);
      }
      return end;
    };
    const hasWords = next !== undefined && !isMacro(next) && !CLOSING.test(next);
    if (word in AROUND) {
      const [begin, end] = AROUND[word]!;
      phrase.open(begin);
      ends.push(end);
    } else if (word in BEGINS) phrase.begin(BEGINS[word]!, word === "Xo");
    else if (word in ENDS) phrase.end(ENDS[word]!, word === "Xc");
    else if (word === "Ns") phrase.join();
    else if (word === "Ap") {
      phrase.close("'");
      phrase.join();
    } else if (word === "Pf" && next !== undefined) {
      phrase.add(this.#shown(next));
      phrase.join();
      return at + 2;
    } else if (word === "Fl") {
      if (hasWords) return words(at + 1, "-");
      phrase.add("-");
      if (next !== undefined && !CLOSING.test(next)) phrase.join();
    } else if (word === "Xr" && next !== undefined) {
      const section = args[at + 2];
      const hasSection = section !== undefined && !CLOSING.test(section) && !isMacro(section);
      phrase.add(this.#shown(next) + (hasSection ? `(${this.#shown(section)})` : ""));
      return at + (hasSection ? 3 : 2);
    } else if (word === "Ar" && !hasWords) phrase.add("file ...");
    else if (word === "Nm" && !hasWords) phrase.add(this.#name);
    else if (word === "Fn" && next !== undefined) {
      const end = endOfWords(args, at + 2);
      const given = args.slice(at + 2, end).map((one) => this.#shown(one));
      phrase.add(`${this.#shown(next)}(${given.join(", ")})`);
      return end;
    } else if (word === "In" && next !== undefined) {
      phrase.add(`${this.#isSynopsis ? "#include " : ""}<${this.#shown(next)}>`);
      return at + 2;
    } else if (word === "Bx" && hasWords) {
      phrase.add(`${this.#shown(next)}BSD`);
      return at + 2;
    } else if (word in SYSTEMS) phrase.add(SYSTEMS[word]!);
    else if (word === "St" && next !== undefined) {
      phrase.add(this.#shown(next).replace(/^-p?/, "POSIX "));
      return at + 2;
    } else if (word === "Lb" && next !== undefined) {
      phrase.add(`library “${this.#shown(next)}”`);
      return at + 2;
    } else if (word === "An" && /^-(?:no)?split$/.test(next ?? "")) return at + 2;
    else if (!isMacro(word)) phrase.add(this.#shown(word));
    return at + 1;
  }

  #shown(source: string): string {
    return this.#roff.shown(source).text;
  }
}

const LIST_TYPE = /^-(?:bullet|column|dash|diag|enum|hang|hyphen|inset|item|ohang|tag)$/;

function endOfWords(args: readonly string[], from: number): number {
  let end = from;
  while (end < args.length && !isMacro(args[end]!) && !CLOSING.test(args[end]!)) end++;
  return end;
}

/** Words with spaces between them, but for marks of punctuation. */
class Phrase {
  /** Whether it begins, or ends, beside the text around it. */
  joinsLeft = false;
  /** How many terms it opens that it does not close. */
  opened = 0;
  #parts: string[] = [];
  #isJoined = false;

  get joinsRight(): boolean {
    return this.#isJoined;
  }

  add(word: string): void {
    if (word === "") return;
    if (CLOSING.test(word) && this.#parts.length > 0) this.close(word);
    else {
      this.#push(word);
      this.#isJoined = OPENING.test(word);
    }
  }

  #push(word: string): void {
    if (this.#parts.length === 0) this.joinsLeft = this.#isJoined;
    else if (!this.#isJoined) this.#parts.push(" ");
    this.#parts.push(word);
    this.#isJoined = false;
  }

  /** A mark before a word. */
  open(mark: string): void {
    if (mark === "") return;
    this.#push(mark);
    this.#isJoined = true;
  }

  /** A mark behind a word. */
  close(mark: string): void {
    this.#isJoined = true;
    this.#push(mark);
  }

  join(): void {
    this.#isJoined = true;
  }

  begin(mark: string, isTerm: boolean): void {
    if (isTerm) this.opened++;
    this.open(mark);
  }

  end(mark: string, isTerm: boolean): void {
    if (isTerm) this.opened--;
    if (mark !== "") this.close(mark);
  }

  text(): string {
    return this.#parts.join("");
  }
}
