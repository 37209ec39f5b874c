/** The first screen: questions that the documents answer, and the documents to read. */

import { json } from "./api.js";
import { byId, element } from "./dom.js";
import { plural } from "./view.js";

/** Documents that are shown at once; of more, there is a field to find them by name. */
const SHOWN = 12;

/** The documents are there at once; the questions are tried with the model first. */
export async function showStart(signal) {
  byId("start").hidden = false;
  const ask = (path) => json(path, undefined, signal).catch(() => undefined); // the status says why
  const questions = ask("v1/questions");
  const documents = await ask("v1/documents");
  if (documents && !signal.aborted) showDocuments(documents);
  const found = await questions;
  if (found && !signal.aborted) showQuestions(found.questions);
}

function showQuestions(questions) {
  byId("questions-part").hidden = questions.length === 0;
  const link = (q) => element("a", { href: `?${new URLSearchParams({ q })}` }, q);
  byId("questions").replaceChildren(...questions.map((q) => element("li", {}, link(q))));
}

function showDocuments({ documents, omitted }) {
  byId("documents-part").hidden = documents.length === 0;
  byId("name-row").hidden = documents.length <= SHOWN;
  const name = byId("name");
  const show = (count) => {
    const wanted = name.value.trim().toLowerCase();
    const matching = documents.filter((one) => one.document.toLowerCase().includes(wanted));
    byId("documents").replaceChildren(...matching.slice(0, count).map(documentItem));
    const rest = matching.length - count;
    byId("all-documents").hidden = rest <= 0;
    byId("all-documents").textContent = `${plural(rest, "more document")}`;
    byId("omitted").hidden = omitted === 0 || rest > 0;
    byId("omitted").textContent = `${plural(omitted, "further document")} not listed: ask for them`;
  };
  name.oninput = () => show(SHOWN);
  byId("all-documents").onclick = () => show(documents.length);
  show(SHOWN);
}

const documentItem = ({ document, passages }) =>
  element(
    "li",
    {},
    element("a", { href: `?${new URLSearchParams({ document })}` }, document),
    " ",
    element("span", { class: "hint" }, plural(passages, "passage")),
  );
