/** Word, PowerPoint, Excel, OpenDocument and books: small inputs, with the exact text. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { epub, openDocument, pptx, shape, slideText, tableOf, xlsx } from "./office-files.ts";
import { docx, officeParts, readAll, readOne, wordParagraph, zip } from "./support.ts";

const run = (text: string, properties = ""): string =>
  `<w:r>${properties && `<w:rPr>${properties}</w:rPr>`}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (content: string, properties = ""): string =>
  `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}${content}</w:p>`;
const noteReference = (id: number): string => `<w:r><w:footnoteReference w:id="${id}"/></w:r>`;
const script = (kind: string): string => `<w:vertAlign w:val="${kind}script"/>`;
const cell = (content: string, properties = ""): string =>
  `<w:tc>${properties && `<w:tcPr>${properties}</w:tcPr>`}${content}</w:tc>`;
const listItem = (text: string, level = 0, list = 1): string =>
  paragraph(run(text), `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
const math = (content: string): string => `<m:oMath>${content}</m:oMath>`;
const mathRun = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`;

const NUMBERING =
  '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>' +
  '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl></w:abstractNum>' +
  '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl></w:abstractNum>' +
  '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>' +
  '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>';
const STYLES =
  '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>' +
  '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>' +
  '<w:style w:styleId="Untertitel"><w:name w:val="Subtitle"/></w:style>' +
  '<w:style w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="berschrift1"/>' +
  '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>';
const textBox = paragraph(
  `${run("Beside.")}<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><w:txbxContent>${wordParagraph("In the box.")}</w:txbxContent></w:drawing></mc:Choice>` +
    `<mc:Fallback><w:pict><w:txbxContent>${wordParagraph("In the box.")}</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
);

const WORD: Readonly<Record<string, [body: string, text: string, parts?: Record<string, string>]>> =
  {
    exponents: [
      paragraph(
        run("10") + run("6", script("super")) + run(" J of H") + run("2", script("sub")) + run("O"),
      ),
      "10^6 J of H2O",
    ],
    "exponents by a style and by hand": [
      paragraph(
        `${run("10")}${run("6", '<w:rStyle w:val="Raised"/>')}${run(" of 2")}${run("8", '<w:position w:val="8"/>')}` +
          `${run(" H")}${run("2", '<w:position w:val="-6"/>')}${run("O ")}${run("raised words", '<w:position w:val="8"/>')}`,
      ),
      "10^6 of 2^8 H2O raised words",
      {
        styles:
          '<w:style w:styleId="Raised"><w:basedOn w:val="Base"/></w:style>' +
          '<w:style w:styleId="Base"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>',
      },
    ],
    "a deleted row": [
      `<w:tbl><w:tr>${cell(wordParagraph("a"))}</w:tr><w:tr><w:trPr><w:del/></w:trPr>${cell(wordParagraph("no"))}</w:tr></w:tbl>`,
      "a",
    ],
    "an exponent in two runs": [
      paragraph(run("10") + run("1", script("super")) + run("2", script("super"))),
      "10^12",
    ],
    "references to notes, and the notes": [
      paragraph(`${run("In 1932")}<w:r><w:footnoteReference w:id="2"/></w:r>${run(" it began.")}`),
      "In 1932 it began.\n\nThe note.",
      {
        footnotes: `<w:footnote w:type="separator" w:id="0">${wordParagraph("no")}</w:footnote><w:footnote w:id="2">${wordParagraph("The note.")}</w:footnote>`,
      },
    ],
    "notes that name themselves and each other, once": [
      paragraph(`${run("Text.")}${noteReference(2)}`),
      "Text.\n\nTwo.\n\nOne.",
      {
        footnotes: [
          [2, `${run("One.")}${noteReference(2)}${noteReference(3)}`],
          [3, `${run("Two.")}${noteReference(2)}`],
        ]
          .map(([id, text]) => `<w:footnote w:id="${id}"><w:p>${text}</w:p></w:footnote>`)
          .join(""),
      },
    ],
    tables: [
      `<w:tbl><w:tr>${cell(wordParagraph("a"))}${cell(wordParagraph("b") + wordParagraph("c"))}</w:tr><w:tr>${cell(wordParagraph("d"))}${cell(wordParagraph("e"))}</w:tr></w:tbl>`,
      "a | b c\nd | e",
    ],
    "cells over rows and columns": [
      `<w:tbl><w:tr>${cell(wordParagraph("a"), '<w:vMerge w:val="restart"/>')}${cell(wordParagraph("b"), '<w:gridSpan w:val="2"/>')}</w:tr>` +
        `<w:tr>${cell(wordParagraph(""), "<w:vMerge/>")}${cell(wordParagraph("c"))}${cell(wordParagraph("d"))}</w:tr></w:tbl>`,
      "a | b | b\na | c | d",
    ],
    "numbers of lists": [
      listItem("one") +
        listItem("two") +
        listItem("in two", 1) +
        listItem("also", 1) +
        listItem("three"),
      "1. one\n2. two\n  2.a) in two\n  2.b) also\n3. three",
      { numbering: NUMBERING },
    ],
    "lists after text, bullets and a start": [
      listItem("a", 0, 2) + wordParagraph("Text.") + listItem("five", 0, 3) + listItem("six", 0, 3),
      "- a\n\nText.\n\n5. five\n6. six",
      { numbering: NUMBERING },
    ],
    "text boxes once": [textBox, "Beside.\n\nIn the box."],
    equations: [
      paragraph(
        run("So ") +
          math(
            `${mathRun("E=m")}<m:sSup><m:e>${mathRun("c")}</m:e><m:sup>${mathRun("2")}</m:sup></m:sSup><m:f><m:num>${mathRun("1")}</m:num><m:den>${mathRun("a+b")}</m:den></m:f>`,
          ),
      ),
      "So E=mc^2 1/(a+b)",
    ],
    "roots, sums and brackets": [
      paragraph(
        math(
          `<m:rad><m:deg/><m:e>${mathRun("x")}</m:e></m:rad>${mathRun("=")}<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${mathRun("i=1")}</m:sub><m:sup>${mathRun("n")}</m:sup><m:e><m:d><m:e>${mathRun("i")}</m:e></m:d></m:e></m:nary>`,
        ),
      ),
      "√(x)=∑_(i=1)^n (i)",
    ],
    "deleted and hidden text": [
      paragraph(
        `${run("a")}<w:del><w:r><w:delText>no</w:delText></w:r></w:del><w:ins>${run("b")}</w:ins>${run("no", "<w:vanish/>")}`,
      ),
      "ab",
    ],
    "text that a style hides": [
      `${paragraph(run("no", '<w:rStyle w:val="Secret"/>') + run("a"))}${paragraph(run("no"), '<w:pStyle w:val="Draft"/>')}` +
        paragraph(run("b", '<w:vanish w:val="0"/>'), '<w:pStyle w:val="Draft"/>'),
      "a\n\nb",
      {
        styles:
          '<w:style w:styleId="Secret"><w:name w:val="Secret"/><w:basedOn w:val="Draft"/></w:style>' +
          '<w:style w:styleId="Draft"><w:name w:val="Draft"/><w:rPr><w:vanish/></w:rPr></w:style>',
      },
    ],
    "breaks of pages and columns separate words": [
      paragraph(
        ["page", "column", "textWrapping"]
          .map((type) => `${run(type)}<w:r><w:br w:type="${type}"/></w:r>`)
          .join("") + run("end"),
      ),
      "page\ncolumn\ntextWrapping\nend",
    ],
    "symbols of fonts": [
      paragraph(
        '<w:r><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Symbol" w:char="F0B3"/></w:r>' +
          `${run("2")}<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Wingdings" w:char="F021"/><w:sym w:font="Arial" w:char="00E9"/></w:r>`,
      ),
      "α≥2✓é",
    ],
    "fields of forms": [
      paragraph(
        `${run("Berth: ")}<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="north"/><w:listEntry w:val="south"/></w:ddList></w:ffData></w:fldChar><w:instrText>FORMDROPDOWN</w:instrText></w:r>`,
      ) +
        paragraph(
          `${run("Paid: ")}<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData></w:fldChar></w:r>${run(" Insured: ")}<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox></w:ffData></w:fldChar></w:r>`,
        ) +
        paragraph(
          `<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>${run("Click here")}</w:sdtContent></w:sdt>`,
        ),
      "Berth: south\n\nPaid: ☒ Insured: ☐",
    ],
    "letters after Z, zeros and ordinals": [
      listItem("Annex", 0, 1) +
        listItem("Annex", 0, 1) +
        listItem("Rule", 0, 2) +
        listItem("", 0, 3) +
        listItem("Prize", 0, 3),
      "Z) Annex\nAA) Annex\n01 Rule\n22nd Prize",
      {
        numbering: ["upperLetter", "decimalZero", "ordinal"]
          .map(
            (format, i) =>
              `<w:abstractNum w:abstractNumId="${i}"><w:lvl w:ilvl="0"><w:start w:val="${[26, 1, 22][i]}"/><w:numFmt w:val="${format}"/><w:lvlText w:val="%1${i === 0 ? ")" : ""}"/></w:lvl></w:abstractNum><w:num w:numId="${i + 1}"><w:abstractNumId w:val="${i}"/></w:num>`,
          )
          .join(""),
      },
    ],
    "tabs and breaks": [
      paragraph(`<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>`),
      "a b\nc",
    ],
    "a table of contents": [
      paragraph(run("Intro 3"), '<w:pStyle w:val="TOC1"/>') + wordParagraph("Text."),
      "Text.",
    ],
  };

for (const [what, [body, expected, parts]] of Object.entries(WORD))
  test(`word: ${what}`, async () => {
    const { passages, notes } = await readOne("a.docx", docx(body, "", parts));
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
    assert.equal(notes, []);
  });

test("word: titles, headings in another language, and their numbers", async () => {
  const styled = (style: string, text: string) =>
    paragraph(run(text), `<w:pStyle w:val="${style}"/>`);
  const body =
    styled("Titel", "Report") +
    styled("Untertitel", "of 2020") +
    wordParagraph("Intro.") +
    styled("Clause", "Scope") +
    wordParagraph("One.") +
    styled("Clause", "Terms") +
    wordParagraph("Two.");
  const { passages } = await readOne(
    "a.docx",
    docx(body, "", { styles: STYLES, numbering: NUMBERING }),
  );
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [
      ["Report > of 2020", "Intro."],
      ["Report > 1. Scope", "One."],
      ["Report > 2. Terms", "Two."],
    ],
  );
  assert.equal(passages[0]!.metadata, { _source: "a.docx", _headings: ["of 2020"] });
});

test("word: a main part of another name, and headers that are not on every page", async () => {
  const section =
    '<w:sectPr><w:headerReference w:type="default" r:id="header1"/><w:headerReference w:type="first" r:id="header2"/></w:sectPr>';
  const parts = {
    header1: wordParagraph("On every page."),
    header2: wordParagraph("Draft of May."),
  };
  const file = docx(wordParagraph("Text.") + section, "", parts, "word/document2.xml");
  const { passages } = await readOne("a.docx", file);
  assert.is(passages.map(({ text }) => text).join("\n\n"), "Draft of May.\n\nText.");
});

test("word: the title has its exponent, and a blank for its line break", async () => {
  const content = `${run("Plan for 10")}${run("6", script("super"))}<w:r><w:br/></w:r>${run("seedlings")}`;
  const body = paragraph(content, '<w:pStyle w:val="Title"/>') + wordParagraph("Text.");
  const { passages } = await readOne("a.docx", docx(body));
  assert.is(passages[0]!.title, "Plan for 10^6 seedlings");
});

test("word: diagrams are read", async () => {
  const relIds = (id: string) =>
    paragraph(
      `<w:r><w:drawing><d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="${id}"/></w:drawing></w:r>`,
    );
  const data = (text: string) =>
    `<a:p xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const body = wordParagraph("Text.") + relIds("diagramData2") + relIds("diagramData1");
  const parts = { diagramData1: data("First"), diagramData2: data("Second") };
  const { passages, notes } = await readOne("a.docx", docx(body, "", parts));
  assert.is(passages.map(({ text }) => text).join("\n\n"), "Text.\n\nSecond\n\nFirst");
  assert.equal(notes, []);
});

test("a zip with bytes behind it, or a comment that is cut off, opens", async () => {
  const file = docx(wordParagraph("Text."));
  const cut = Buffer.from(file);
  cut.writeUInt16LE(40, cut.length - 2);
  const commented = Buffer.concat([file, Buffer.from("a note")]);
  commented.writeUInt16LE(6, file.length - 2);
  for (const one of [cut, commented, Buffer.concat([file, Buffer.alloc(70_000)])]) {
    const { passages, notes } = await readOne("a.docx", one);
    assert.equal([passages.map(({ text }) => text), notes], [["Text."], []]);
  }
});

test("a password is named as a password", async () => {
  const compound = Buffer.concat([
    Buffer.from("d0cf11e0a1b11ae1", "hex"),
    Buffer.alloc(504),
    Buffer.from("EncryptedPackage", "utf16le"),
  ]);
  const manifest =
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry></manifest:manifest>';
  const open = zip({ "META-INF/manifest.xml": manifest, "content.xml": Buffer.alloc(32, 7) });
  const got = "got a file with a password; save it without the password, or ignore it";
  const folder = await mkdtemp(join(tmpdir(), "reatt-documents-"));
  try {
    await writeFile(join(folder, "a.docx"), compound);
    await writeFile(join(folder, "a.odt"), open);
    await writeFile(join(folder, "a.txt"), "Text.");
    const { skipped } = await readAll(folder);
    assert.equal(
      Object.values(skipped).map((message) => message.replaceAll(`${folder}/`, "")),
      [
        `a.docx: expected a Word document (.docx), ${got}`,
        `a.odt: expected an OpenDocument file, ${got}`,
      ],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("no warning of too many listeners for a file with many parts", async () => {
  const parts = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`other${i}`, "<a/>"]));
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", note);
  await readOne("a.docx", docx(wordParagraph("Text."), "", parts));
  await new Promise(setImmediate);
  process.off("warning", note);
  assert.equal(warnings, []);
});

test("word: charts and objects are named", async () => {
  const body = paragraph(
    `${run("Text.")}<w:r><w:drawing><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"/></w:drawing></w:r><w:r><w:object/></w:r>`,
  );
  const { passages, notes } = await readOne("a.docx", docx(body));
  assert.is(passages[0]!.text, "Text.");
  assert.equal(notes, [
    "a.docx: expected text, got 1 chart, 1 embedded object; these are left out, the rest is read",
  ]);
});

test("word: the title property counts unless it says nothing", async () => {
  const titled = async (title: string) => {
    const file = zip({
      ...officeParts("word/document.xml", {
        "word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${wordParagraph("Text.")}</w:body></w:document>`,
      }),
      "docProps/core.xml": `<cp:coreProperties xmlns:cp="x" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${title}</dc:title></cp:coreProperties>`,
    });
    return (await readOne("my-file.docx", file)).passages[0]!.title;
  };
  assert.is(await titled("Annual report"), "Annual report");
  for (const useless of ["", "Document1", "untitled", "Microsoft Word - report.doc", "(anonymous)"])
    assert.is(await titled(useless), "my file", useless);
});

test("powerpoint: slides in their order, with title, lists, tables and notes", async () => {
  const file = pptx(
    shape("ctrTitle", slideText("Energy")) + shape("subTitle", slideText("A talk")),
    shape(
      "body",
      slideText("Sun"),
      slideText("10", '<a:pPr lvl="1"/>').replace(
        "</a:p>",
        '<a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r></a:p>',
      ),
    ) +
      shape("title", slideText("Sources")) +
      shape("sldNum", slideText("2")),
    tableOf([
      ["Name", "Price"],
      ["Lamp", "9"],
    ]) + shape(undefined, slideText("Free text.")),
  );
  const { passages } = await readOne("a.pptx", file);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._slide]),
    [
      ["Energy", "A talk\n\nSay hello.", 1],
      ["Energy > Sources", "- Sun\n  - 10^6", 2],
      ["Energy", "Name | Price\n--- | ---\nLamp | 9\n\nFree text.", 3],
    ],
  );
});

test("powerpoint: numbers of each level, from their start, in their scheme", async () => {
  const numbered = (text: string, level: number, scheme: string) =>
    slideText(text, `<a:pPr lvl="${level}"><a:buAutoNum ${scheme}/></a:pPr>`);
  const [outer, inner] = ['type="arabicPeriod" startAt="4"', 'type="alphaLcParenBoth"'];
  const file = pptx(
    shape(
      "body",
      numbered("Close", 0, outer),
      numbered("Tap", 1, inner),
      numbered("Beep", 1, inner),
      numbered("Drain", 0, outer),
      numbered("Red", 1, inner),
      slideText("Note"),
      numbered("Lock", 0, 'type="romanUcParenR"'),
    ),
  );
  assert.is(
    (await readOne("a.pptx", file)).passages[0]!.text.split("\n\n")[0],
    "4. Close\n  (a) Tap\n  (b) Beep\n5. Drain\n  (a) Red\n- Note\nI) Lock",
  );
});

test("powerpoint: a shape in two forms is read once", async () => {
  const choice = (inner: string, other: string) =>
    `<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>${inner}</mc:Choice><mc:Fallback>${other}</mc:Fallback></mc:AlternateContent>`;
  const file = pptx(choice(shape(undefined, slideText("New")), shape(undefined, slideText("Old"))));
  assert.is((await readOne("a.pptx", file)).passages[0]!.text, "New\n\nSay hello.");
});

test("excel: rows with typed columns, dates and the sheet", async () => {
  const sheet =
    '<sheetData><row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="inlineStr"><is><t>Price</t></is></c><c r="C2" t="str"><v>Date</v></c><c r="D2" t="str"><v>Draft</v></c></row>' +
    '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3"><v>9.5</v></c><c r="C3" s="1"><v>45413</v></c><c r="D3" t="b"><v>1</v></c></row>' +
    '<row r="4"><c r="A4" t="s"><v>2</v></c><c r="B4"><v>0.30000000000000004</v></c><c r="C4" s="2"><v>45413.5</v></c><c r="D4" t="b"><v>0</v></c></row></sheetData>';
  const { passages } = await readOne("a.xlsx", xlsx({ Prices: sheet }, ["Name", "Lamp", "Chair"]));
  assert.equal(
    passages.map(({ id, text, metadata }) => [id, text, metadata]),
    [
      [
        "a.xlsx#Prices!3",
        "Name: Lamp\nPrice: 9.5\nDate: 2024-05-01\nDraft: true",
        {
          _source: "a.xlsx",
          _sheet: "Prices",
          _rows: "3",
          Name: "Lamp",
          Price: 9.5,
          Date: "2024-05-01",
          Draft: true,
        },
      ],
      [
        "a.xlsx#Prices!4",
        "Name: Chair\nPrice: 0.3\nDate: 2024-05-01T12:00:00\nDraft: false",
        {
          _source: "a.xlsx",
          _sheet: "Prices",
          _rows: "4",
          Name: "Chair",
          Price: 0.3,
          Date: "2024-05-01T12:00:00",
          Draft: false,
        },
      ],
    ],
  );
});

/** What Excel shows of a number in a format, and the value for filters. */
const FORMATS: readonly (readonly [string, number, string, string | number])[] = [
  ["0.0%", 0.125, "12.5%", 0.125],
  ["[$€-2] #,##0.00", 1234.5, "€ 1,234.50", 1234.5],
  ['_-"£"* #,##0.00_-', 1234.5, "£ 1,234.50", 1234.5],
  ["#,##0;[Red](#,##0)", -1234, "(1,234)", -1234],
  ['#,##0 "km"', 4200, "4,200 km", 4200],
  ['0 "°C"', 9, "9 °C", 9],
  ["00000", 1234, "01234", "01234"],
  ["(000) 000-0000", 5_550_109_999, "(555) 010-9999", "(555) 010-9999"],
  ["[h]:mm", 36.5 / 24, "36:30", "36:30"],
  ["h:mm", 0.5, "12:00:00", "12:00:00"],
  ["# ?/?", 1.5, "1 1/2", 1.5],
  ["0.00E+00", 12_345, "1.23E+04", 12_345],
  ["0 [x", 3, "3", 3],
];

test("excel: numbers as a person sees them, and their values", async () => {
  const row = (number: number, cells: readonly string[]) =>
    `<row r="${number}">${cells.join("")}</row>`;
  const names = FORMATS.map((_, i) => `<c t="str"><v>c${i}</v></c>`);
  const numbers = FORMATS.map(([, value], i) => `<c s="${i + 3}"><v>${value}</v></c>`);
  const sheet = `<sheetData>${row(1, names)}${row(2, numbers)}</sheetData>`;
  const file = xlsx(
    { S: sheet },
    [],
    FORMATS.map(([code]) => code),
  );
  const [passage] = (await readOne("a.xlsx", file)).passages;
  assert.equal(
    passage!.text.split("\n"),
    FORMATS.map(([, , shown], i) => `c${i}: ${shown}`),
  );
  for (const [i, [, , , value]] of FORMATS.entries()) assert.is(passage!.metadata![`c${i}`], value);
});

test("excel: all digits of integers", async () => {
  const numbers = ["1234567890123456", "12345678901234567890"].map((n) => `<c><v>${n}</v></c>`);
  const file = xlsx({
    S: `<sheetData><row r="1"><c t="str"><v>Name</v></c><c t="str"><v>Number</v></c></row><row r="2">${numbers.join("")}</row></sheetData>`,
  });
  const [passage] = (await readOne("a.xlsx", file)).passages;
  assert.is(passage!.text, "Name: 1234567890123456\nNumber: 12345678901234567890");
});

test("excel: merged cells, and a column far away", async () => {
  const text = (at: string, value: string) => `<c r="${at}" t="str"><v>${value}</v></c>`;
  const sheet = `<sheetData><row r="1">${text("A1", "Name")}${text("B1", "Type")}</row><row r="2">${text("A2", "North")}${text("B2", "x")}</row><row r="3">${text("B3", "y")}</row><row r="4">${text("XFE4", "beyond")}</row></sheetData><mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="A5:XFD1048576"/></mergeCells>`;
  const { passages } = await readOne("a.xlsx", xlsx({ S: sheet }));
  assert.equal(
    passages.map((passage) => passage.text),
    ["Name: North\nType: x", "Name: North\nType: y"],
  );
});

test("opendocument text: title, headings, lists, tables, notes and exponents", async () => {
  const content =
    '<text:p text:style-name="Title">Report</text:p><text:h text:outline-level="1">Scope</text:h>' +
    '<text:p>In 10<text:span text:style-name="T1">6</text:span> years<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note><text:s text:c="2"/>on.</text:p>' +
    "<text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>" +
    '<table:table><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>h</text:p></table:table-cell><table:covered-table-cell/></table:table-row><table:table-row><table:table-cell><text:p>c</text:p></table:table-cell><table:table-cell><text:p>d</text:p></table:table-cell></table:table-row></table:table>';
  const styles =
    '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>';
  const { passages } = await readOne("a.odt", openDocument("text", content, styles));
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [["Report > Scope", "In 10^6 years on.\n\nThe note.\n\n- a\n  - b\n\nh | h\nc | d"]],
  );
});

test("opendocument table: repeated cells and rows, types", async () => {
  const text = (value: string) => `<table:table-cell><text:p>${value}</text:p></table:table-cell>`;
  const number = (value: string) =>
    `<table:table-cell office:value-type="float" office:value="${value}"><text:p>${value},0</text:p></table:table-cell>`;
  const content = `<table:table table:name="S"><table:table-row>${text("Name")}${text("Price")}<table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="2">${text("Lamp")}${number("9.5")}</table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table>`;
  const { passages } = await readOne("a.ods", openDocument("spreadsheet", content));
  assert.equal(
    passages.map(({ id, metadata }) => [id, metadata!.Price]),
    [
      ["a.ods#S!2", 9.5],
      ["a.ods#S!3", 9.5],
    ],
  );
});

test("opendocument slides", async () => {
  const frame = (kind: string, text: string) =>
    `<draw:frame presentation:class="${kind}"><draw:text-box><text:p>${text}</text:p></draw:text-box></draw:frame>`;
  const content = `<draw:page>${frame("title", "Energy")}${frame("outline", "The sun.")}</draw:page><draw:page>${frame("title", "Wind")}${frame("outline", "The sea.")}</draw:page>`;
  const { passages } = await readOne("a.odp", openDocument("presentation", content));
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._slide]),
    [
      ["Energy", "The sun.", 1],
      ["Energy > Wind", "The sea.", 2],
    ],
  );
});

test("opendocument text: numbers of lists and headings", async () => {
  const item = (content: string) => `<text:list-item>${content}</text:list-item>`;
  const list = (content: string, attributes = "") =>
    `<text:list text:style-name="L1" ${attributes}>${content}</text:list>`;
  const p = (text: string) => `<text:p>${text}</text:p>`;
  const inner = `<text:list>${item(p("tap"))}${item(p("beep"))}</text:list>`;
  const content =
    list(item(p("close")) + item(p("wait") + inner), 'xml:id="one"') +
    p("A note.") +
    list(item(p("open")), 'text:continue-numbering="true"') +
    list('<text:list-item text:start-value="7"><text:p>lock</text:p></text:list-item>');
  const levels = [
    ["1", '"1" style:num-suffix="."'],
    ["2", '"a" style:num-suffix=")" text:display-levels="2"'],
  ].map(
    ([level, format]) =>
      `<text:list-level-style-number text:level="${level}" style:num-format=${format}/>`,
  );
  const styles = `<text:list-style style:name="L1">${levels.join("")}</text:list-style>`;
  const { passages } = await readOne("a.odt", openDocument("text", content, styles));
  assert.is(
    passages.map(({ text }) => text).join("\n\n"),
    "1. close\n2. wait\n  2.a) tap\n  2.b) beep\n\nA note.\n\n3. open\n\n7. lock",
  );
  const outline =
    '<text:outline-style><text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/></text:outline-style>';
  const headings =
    '<text:h text:outline-level="1">Scope</text:h><text:p>a</text:p><text:h text:outline-level="1">Terms</text:h><text:p>b</text:p>';
  const numbered = await readOne("a.odt", openDocument("text", headings, outline));
  assert.equal(
    numbered.passages.map(({ title }) => title),
    ["a > I. Scope", "a > II. Terms"],
  );
});

test("opendocument text: equations, hidden text and all shapes", async () => {
  const math =
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="StarMath 5.0">E = m c^2</annotation></semantics></math>';
  const content =
    '<text:p>So <draw:frame><draw:object xlink:href="./Object 1" xmlns:xlink="http://www.w3.org/1999/xlink"/></draw:frame> holds<text:span text:style-name="H">no</text:span>.</text:p>' +
    '<text:p text:style-name="P">no</text:p>' +
    "<text:p>Beside.<draw:rect><text:p>In the box.</text:p></draw:rect></text:p>";
  const hidden = '<style:text-properties text:display="none"/>';
  const styles = `<style:style style:name="H">${hidden}</style:style><style:style style:name="P0">${hidden}</style:style><style:style style:name="P" style:parent-style-name="P0"/>`;
  const { passages, notes } = await readOne(
    "a.odt",
    openDocument("text", content, styles, { "Object 1/content.xml": math }),
  );
  assert.is(
    passages.map(({ text }) => text).join("\n\n"),
    "So E = mc^2 holds.\n\nBeside.\n\nIn the box.",
  );
  assert.equal(notes, []);
});

test("opendocument slides: all shapes, and a title of two lines", async () => {
  const content =
    '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Energy<text:line-break/>today</text:p></draw:text-box></draw:frame>' +
    "<draw:g><draw:ellipse><text:p>Sun</text:p></draw:ellipse></draw:g><draw:rect><text:p>Wind</text:p></draw:rect></draw:page>";
  const { passages } = await readOne("a.odp", openDocument("presentation", content));
  assert.equal([passages[0]!.title, passages[0]!.text], ["Energy today", "Sun\n\nWind"]);
});

test("a book: chapters in the order of the spine", async () => {
  const book = epub("Faust", {
    "t/one.xhtml":
      '<h1>Night</h1><p>He sat.<a epub:type="noteref" href="#n">1</a></p><aside id="n">A note.</aside>',
    "t/two .xhtml": "<h1>Easter</h1><p>They walked.</p>",
  });
  const { passages } = await readOne("a.epub", book);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._chapter]),
    [
      ["Faust > Night", "He sat.\n\nA note.", 1],
      ["Faust > Easter", "They walked.", 2],
    ],
  );
});

test.run();
