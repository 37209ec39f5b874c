/** Titles that programs write into files without being asked. */

const USELESS =
  /^(?:untitled(?: document)?|unbenannt|sans titre|\(?anonymous\)?|\(?unspecified\)?|no title|title|document ?\d*|dokument ?\d*|presentation ?\d*|powerpoint[- ]?pr[äe]sentation|slide ?\d*|folie ?\d*|book ?\d*|mappe ?\d*|new microsoft .*|blank page|pdf|scan(?:ned)?[\s_-]?\d*|cover ?letter template)$/i;
/** `Microsoft Word - report.doc` */
const PROGRAM =
  /^(?:microsoft (?:word|powerpoint|excel)|print|printing|openoffice|libreoffice)\s*-\s*/i;
const FILE_NAME =
  /^[^\s]*\.(?:docx?|pptx?|xlsx?|od[tps]|rtf|tex|dvi|ps|pdf|indd|qxd|pmd|html?|pages|key|txt)$/i;

/** The title of a file as a person would give it; undefined for one that says nothing. */
export function usefulTitle(given: string): string | undefined {
  const text = given.replace(/[\p{Cc}\s]+/gu, " ").trim();
  const title = text.replace(PROGRAM, "").trim();
  const isUseless = !/\p{L}/u.test(title) || USELESS.test(title) || FILE_NAME.test(title);
  return isUseless || (title !== text && /^[\w ()-]+\.\w{2,4}$/.test(title)) ? undefined : title;
}
