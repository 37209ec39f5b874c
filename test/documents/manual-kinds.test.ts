/** What becomes of the macros of manual pages. Expectations are what `man` shows. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readOne } from "./support.ts";

const page = (body: string): string => `.TH TOOL 1 2024 x\n.SH TEXT\n${body}\n`;
const mdoc = (body: string): string =>
  `.Dd May 1, 2024\n.Dt TOOL 1\n.Os\n.Sh NAME\n.Nm tool\n.Nd does it\n.Sh TEXT\n${body}\n`;

async function shown(source: string): Promise<string> {
  const { passages } = await readOne("tool.1", source);
  return passages
    .filter(({ title }) => title.endsWith("TEXT"))
    .map(({ text }) => text)
    .join("\n\n");
}

for (const [name, body, expected] of [
  [
    "fonts",
    '.B one\ntwo\n.BR cat (1),\n.BI \\-f " file"\n\\fBa\\fIb\\fR\\f[CW]c\\fP',
    "one two cat(1), -f file abc",
  ],
  ["an empty font has the next line", ".B\nbold", "bold"],
  [
    "special characters",
    "\\(em \\[u20AC] \\(dq\\[aq]\\(cq \\('e \\e \\(bu a\\-b",
    "— € \"'’ é \\ • a-b",
  ],
  ["sizes and motions", "\\s-1SMALL\\s0 \\s+2b\\s10c\\h'2n'd\\v'-1'\\w'abc'e", "SMALL bcde"],
  ["silent marks", "a\\&b\\%c\\/d\\,e\\|f\\^g\\:h", "abcdefgh"],
  ["a line that goes on", "a\\\nb\nc\\c\nd", "ab cd"],
  ["comments", 'a\\" not this\n.\\" nor this\n\'\\" nor this\nb', "a b"],
  ["paragraphs", "a\n.PP\nb\n.LP\nc\n\nd\n.sp\ne", "a\n\nb\n\nc\n\nd\n\ne"],
  ["breaks", "a\n.br\nb\n  c", "a\nb\nc"],
  [
    "terms",
    ".TP\n\\fB\\-a\\fR\nAll.\n.TP 4\n.B \\-b\n.TQ\n.B \\-\\-bold\nBold.\n.IP \\-c\nC.",
    "-a: All.\n-b: --bold: Bold.\n-c: C.",
  ],
  [
    "a definition of two paragraphs",
    ".TP\n.B \\-a\nAll.\n.IP\nMore.\n.PP\nEnd.",
    "-a\n\nAll.\n\nMore.\n\nEnd.",
  ],
  [
    "definitions of DocBook",
    ".PP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR\n.RS 4\nAll of it\\&.\n.RE\n.PP\n\\-b\n.RS 4\nB.\n.RE",
    "-a, --all: All of it.\n-b: B.",
  ],
  [
    "items of DocBook",
    ".sp\n.RS 4\n.ie n \\{\\\n\\h'-04'\\(bu\\h'+03'\\c\n.\\}\n.el \\{\\\n.IP \\(bu 2.3\n.\\}\nOne\n.RE\n.sp\n.RS 4\n.ie n \\{\\\n\\h'-04' 2.\\h'+01'\\c\n.\\}\n.el \\{\\\n.IP \" 2.\" 4.2\n.\\}\nTwo\n.RE",
    "- One\n2. Two",
  ],
  [
    "items",
    '.IP \\(bu 2\nOne.\n.IP \\(bu\nTwo.\n.RS\n.IP 1. 3\nInner.\n.RE\n.IP ""\nMore.',
    "- One.\n- Two.\n  1. Inner.\n  More.",
  ],
  [
    "code",
    "See:\n.nf\na {\n    b\n\n}\n.fi\nEnd.\n.EX\nc\n.EE",
    "See:\n\na {\n    b\n\n}\n\nEnd.\n\nc",
  ],
  [
    "strings and registers",
    ".ds v 1.\\(em2\n.as v x\n.nr n 3 1\n\\*v \\*(lqa\\*(rq \\*[v] \\nn \\n+n",
    "1.—2x “a” 1.—2x 3 4",
  ],
  [
    "macros of the page",
    '.de Vb\n.nf\n..\n.de Ve\n.fi\n..\n.de XX\n\\\\$2-\\\\$1 (\\\\$*)\n..\n.Vb 1\ncode\n.Ve\n.XX a "b c"',
    "code\n\nb c-a (a b c)",
  ],
  [
    "conditions",
    ".if n a\n.if t b\n.ie \\n(.g c\n.el d\n.if !n \\{\\\ne\n.if n f\n.\\}\n.if '\\*(xy'' g\n.ie 0 \\{ h\n.\\}\n.el \\{\\\ni\n.\\}\n.if (1+1>1)&(2<3) j",
    "a c g i j",
  ],
  ["what is ignored", ".ig\nnot this\n..\n.de unused\nnor this\n..\n.ad l\n.hy 0\n.ft B\na", "a"],
  ["unknown macros", '.ZZ lost "or not"\na', "lost or not a"],
  ["links", ".UR https://x.org/\nX\n.UE .\n.MT a@b.c\n.ME", "X <https://x.org/>. <a@b.c>"],
  ["a synopsis", ".SY tool\n.OP \\-f file\n.OP \\-v\n.YS", "tool [-f file] [-v]"],
  [
    "a table",
    ".TS\nallbox tab(:);\nlb l\nl l.\nName:Size\n_\none:10\nT{\ntwo\nof it\nT}:T{\n.B 20\nT}\n.TE",
    "Name | Size\n--- | ---\none | 10\ntwo of it | 20",
  ],
  ["characters that are replaced", ".tr ab\n.ds -- \\(*W\n.tr \\(*W-\nx\\*(--", "x-"],
  ["a repeated name", ".de A\nx\n.A\n..\n.A", "x"],
] as const)
  test(`man: ${name}`, async () => assert.is(await shown(page(body)), expected));

for (const [name, body, expected] of [
  [
    "options",
    ".Nm\n.Op Fl abc\n.Op Fl f Ar file Ns | Ns Ar dir\n.Ar\n.Fl -long Ns = Ns Ar n ,\n.Fl",
    "tool [-abc] [-f file|dir] file ... --long=n, -",
  ],
  [
    "terms",
    ".Bl -tag -width x\n.It Fl a\nAll.\n.It Xo\n.Fl b\n.Ar c\n.Xc\nB.\n.El",
    "-a: All.\n-b c: B.",
  ],
  [
    "lists",
    ".Bl -bullet\n.It\nOne.\n.It\nTwo.\n.Bl -enum\n.It\nInner.\n.El\n.El",
    "- One.\n- Two.\n  1. Inner.",
  ],
  [
    "columns",
    ".Bl -column a b\n.It Em Name Ta Em Size\n.It one Ta 10\n.It two\t20\n.El",
    "Name | Size\n--- | ---\none | 10\ntwo | 20",
  ],
  ["enclosures", ".Pq a , Dq b c .\n.Oo\nd\n.Oc e\n.Ql f ;\n.Brq g", "(a, “b c”). [d] e ‘f’; {g}"],
  [
    "references",
    ".Xr cat 1 ,\n.Sx OTHER\n.Pf x Ar y\n.Rs\n.%A A. B.\n.%T Title\n.Re",
    "cat(1), OTHER xy A. B., Title.",
  ],
  [
    "functions",
    '.Ft int\n.Fn f "int a" "char *b"\n.Fo g\n.Fa x\n.Fa y\n.Fc',
    "int f(int a, char *b) g(x, y)",
  ],
  [
    "code",
    "See:\n.Bd -literal\na  b\n  c\n.Ed\n.Pp\nEnd.\n.Dl run it",
    "See:\n\na  b\n  c\n\nEnd.\n\nrun it",
  ],
  [
    "systems",
    ".Bx 4.2\n.Fx 3\n.Ux\n.Ex -std",
    "4.2BSD FreeBSD 3 UNIX The tool utility exits 0 on success, and >0 if an error occurs.",
  ],
] as const)
  test(`mdoc: ${name}`, async () => assert.is(await shown(mdoc(body)), expected));

test("titles: the name of the file if only the case differs", async () => {
  for (const [file, th, title] of [
    ["git-add.1", "GIT\\-ADD 1", "git-add(1) > A"],
    ["x.3pm", '"Some::Module" 3', "Some::Module(3) > A"],
  ] as const) {
    const { passages } = await readOne(file, `.TH ${th}\n.SH A\nb\n`);
    assert.is(passages[0]!.title, title);
  }
});

test("a file with the ending of a page that is none is text", async () => {
  const { passages } = await readOne("syslog.1", "one\n\ntwo\n");
  assert.is(passages[0]!.text, "one\n\ntwo");
});

test("NOTES and WARNING are sections", async () => {
  const { passages } = await readOne("a.1", ".TH A 1\n.SH NOTES\nOne.\n.SH WARNING\nTwo.\n");
  assert.equal(
    passages.map(({ title }) => title),
    ["a(1) > NOTES", "a(1) > WARNING"],
  );
});

/** A part of a page whose words `$` are numbered. */
const PARTS = [
  "$ $\n",
  ".PP\n$ $\n",
  ".B $\n",
  ".BR $ $\n",
  ".TP\n$\n$ $\n",
  ".TP\n.B $\n.TQ\n.I $\n$\n",
  ".IP $ 4\n$\n",
  ".IP \\(bu\n$\n",
  ".IP\n$\n",
  ".RS\n",
  ".RE\n",
  ".SS $\n$\n",
  ".SH $ $\n",
  ".nf\n$\n  $\n.fi\n",
  ".UNKNOWN $ $\n",
  "$\\c\n",
  "\n",
  ".br\n",
  ".TS\nl l.\n$\t$\n$\tT{\n$\nT}\n.TE\n",
  ".if n $\n",
  ".ie 0 no\n.el $\n",
  ".Bl -tag\n.It Fl $\n$\n.El\n",
  ".Bl -bullet\n.It\n$\n",
  ".El\n",
  ".Op $ Ar $\n",
  ".Bd -literal\n$\n.Ed\n",
];

for (const [kind, head] of [
  ["man", ".TH A 1\n.SH B\n"],
  ["mdoc", ".Dd x\n.Dt A 1\n.Sh B\n"],
] as const)
  test(`${kind}: no word is lost, none is doubled`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...PARTS), { maxLength: 30 }), async (parts) => {
        // macros of mdoc alone are unknown to man, whose pages show their arguments
        let count = 0;
        const source = parts
          .filter((part) => kind === "mdoc" || !/^\.(?:Bl|El|Op|Bd)/.test(part))
          .join("")
          .replace(/\$/g, () => `q${++count}q`);
        const { passages } = await readOne("a.1", `${head}Begin.\n${source}`, {
          passageWords: 10_000,
          maxPassageTokens: 100_000,
        });
        const titles = new Set(passages.flatMap(({ metadata }) => metadata?._headings ?? []));
        const all = [...titles, ...passages.map(({ text }) => text)].join("\n");
        const found = all.match(/q\d+?q/g) ?? [];
        assert.is(new Set(found).size, count, source);
        assert.is(found.length, count, `${source}\n---\n${all}`);
      }),
      { numRuns: 100 },
    ));

test.run();
