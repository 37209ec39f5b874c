/** PowerPoint, Excel, OpenDocument and books for tests. */

import { officeParts, relationships, zip } from "./support.ts";

const DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main";
const SLIDES =
  `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="${DRAWING}" ` +
  'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
export const shape = (type: string | undefined, ...paragraphs: string[]): string =>
  `<p:sp><p:nvSpPr>${type === undefined ? "" : `<p:nvPr><p:ph type="${type}"/></p:nvPr>`}</p:nvSpPr><p:txBody>${paragraphs.join("")}</p:txBody></p:sp>`;
export const slideText = (text: string, properties = "", runProperties = ""): string =>
  `<a:p>${properties}<a:r>${runProperties}<a:t>${text}</a:t></a:r></a:p>`;
export const tableOf = (rows: string[][]): string =>
  `<p:graphicFrame><a:graphic><a:graphicData uri="x/table"><a:tbl><a:tblPr firstRow="1"/>${rows
    .map(
      (row) =>
        `<a:tr>${row.map((text) => `<a:tc><a:txBody>${slideText(text)}</a:txBody></a:tc>`).join("")}</a:tr>`,
    )
    .join("")}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;

/** Slides, whose files are in another order. */
export function pptx(...slides: string[]): Buffer {
  const ids = slides.map((_, i) => `<p:sldId id="${256 + i}" r:id="s${i}"/>`).join("");
  const parts: Record<string, string> = {
    "ppt/presentation.xml": `<p:presentation ${SLIDES}><p:sldIdLst>${ids}</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relationships(
      Object.fromEntries(
        slides.map((_, i) => [`s${i}`, ["slide", `slides/slide${9 - i}.xml`] as const]),
      ),
    ),
    "ppt/slides/_rels/slide9.xml.rels": relationships({
      n: ["notesSlide", "../notesSlides/notes.xml"],
    }),
    "ppt/notesSlides/notes.xml": `<p:notes ${SLIDES}>${shape("sldNum", slideText("1"))}${shape("body", slideText("Say hello."))}</p:notes>`,
  };
  for (const [i, slide] of slides.entries())
    parts[`ppt/slides/slide${9 - i}.xml`] =
      `<p:sld ${SLIDES}><p:cSld><p:spTree>${slide}</p:spTree></p:cSld></p:sld>`;
  return zip(officeParts("ppt/presentation.xml", parts));
}

const SHEETS =
  'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';

/**
 * Sheets by their names, and the shared texts.
 *
 * @param formats of numbers; the styles of cells with them are 3, 4, and so on
 */
export function xlsx(
  sheets: Readonly<Record<string, string>>,
  shared: readonly string[] = [],
  formats: readonly string[] = [],
): Buffer {
  const codes = ["dd/mm/yyyy", ...formats].map((code, i) => {
    const escaped = code.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    return `<numFmt numFmtId="${164 + i}" formatCode="${escaped}"/>`;
  });
  const styles = [0, 14, ...codes.map((_, i) => 164 + i)].map((id) => `<xf numFmtId="${id}"/>`);
  const names = Object.keys(sheets);
  const parts: Record<string, string> = {
    "xl/workbook.xml": `<workbook ${SHEETS}><sheets>${names.map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="r${i}"/>`).join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relationships({
      ...Object.fromEntries(
        names.map((_, i) => [`r${i}`, ["worksheet", `worksheets/sheet${i}.xml`] as const]),
      ),
      s: ["sharedStrings", "sharedStrings.xml"],
      t: ["styles", "styles.xml"],
    }),
    "xl/sharedStrings.xml": `<sst ${SHEETS}>${shared.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`,
    "xl/styles.xml": `<styleSheet ${SHEETS}><numFmts>${codes.join("")}</numFmts><cellXfs>${styles.join("")}</cellXfs></styleSheet>`,
  };
  for (const [i, xml] of Object.values(sheets).entries())
    parts[`xl/worksheets/sheet${i}.xml`] = `<worksheet ${SHEETS}>${xml}</worksheet>`;
  return zip(officeParts("xl/workbook.xml", parts));
}

const OPEN = ["office", "text", "table", "style", "presentation"]
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .concat('xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"')
  .join(" ");
/** @param kind text, spreadsheet or presentation */
export const openDocument = (
  kind: string,
  content: string,
  styles = "",
  parts: Readonly<Record<string, string>> = {},
): Buffer =>
  zip({
    ...parts,
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    "content.xml": `<office:document-content ${OPEN}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${kind}>${content}</office:${kind}></office:body></office:document-content>`,
  });

/** A book of these chapters by the names of their files. The manifest has them in reverse order. */
export function epub(title: string, chapters: Readonly<Record<string, string>>): Buffer {
  const page = (body: string): string =>
    `<html xmlns="http://www.w3.org/1999/xhtml"><body>${body}</body></html>`;
  const names = Object.keys(chapters);
  const items = names.map(
    (name, i) => `<item id="c${i}" href="${encodeURI(name)}" media-type="application/xhtml+xml"/>`,
  );
  const spine = names.map((_, i) => `<itemref idref="c${i}"/>`).join("");
  return zip({
    mimetype: "application/epub+zip",
    "META-INF/container.xml":
      '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="O/book.opf"/></rootfiles></container>',
    "O/book.opf":
      `<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${title}</dc:title></metadata><manifest>` +
      `<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>${items.reverse().join("")}</manifest><spine><itemref idref="n"/>${spine}</spine></package>`,
    "O/nav.xhtml": page("<p>Contents</p>"),
    ...Object.fromEntries(names.map((name) => [`O/${name}`, page(chapters[name]!)])),
  });
}
