/** Shows replies and documents. */

import { byId, element } from "./dom.js";
import { highlighted, matchesOf, textElements } from "./text.js";

/** Passages that are shown at once. */
const SHOWN = 5;
/** Longer texts are folded, in characters. */
const LONG = 700;
/** Characters of a folded text before what it is shown for. */
const BEFORE = 200;

export function showProblem(message = "") {
  byId("problem").textContent = message;
  byId("problem").hidden = message === "";
}

/** Shows a line in place of an answer, such as that the model reads. */
export function showLine(text) {
  showOnly("result");
  byId("evidence-title").textContent = "Passages";
  for (const id of ["block", "origin", "confidence"]) byId(id).hidden = true;
  byId("answer").textContent = text;
  byId("answer").className = "quiet";
}

export function showText(answer) {
  byId("answer").textContent = answer;
  byId("answer").className = "";
}

export function clear() {
  showOnly();
  showProblem();
}

function showOnly(...sections) {
  for (const id of ["result", "evidence", "document"]) byId(id).hidden = !sections.includes(id);
}

/** @param where the filter of the question */
export function showReply({ answer, abstained, confidence, evidence, passages }, where) {
  const [block] = evidence;
  const hasAnswer = !abstained && answer.trim() !== "";
  showOnly("result", ...(passages.length > 0 ? ["evidence"] : []));
  byId("answer").hidden = !hasAnswer && block !== undefined;
  byId("answer").className = hasAnswer ? "" : "quiet";
  byId("answer").textContent = hasAnswer ? answer : withoutAnswer(passages, where);
  showBlock(block, passages);
  byId("confidence").hidden = !hasAnswer && block === undefined;
  byId("confidence").textContent = `${percent(block?.score ?? confidence)} likely to answer`;
  byId("evidence-title").textContent = block || hasAnswer ? "Passages" : "The closest passages";
}

function withoutAnswer(passages, where) {
  if (passages.length > 0) return "Not sure: no passage clearly answers this.";
  return where === "" ? "Nothing found." : "No passage matches the filter.";
}

/** The block that answers, with the answer marked, and where it stands. */
function showBlock(block, passages) {
  byId("block").hidden = !block;
  byId("origin").hidden = !block;
  if (!block) return;
  const { text, span } = block;
  const marks = span ? [{ ...span, class: "answer" }] : [];
  byId("block").replaceChildren(...textElements(text, marks));
  const passage = passages.find(({ id }) => id === block.id) ?? block;
  byId("origin").replaceChildren(titleOf(passage), ...placesOf(passage));
}

/**
 * @param asked the reply; and the tokens of its passages that match, once they are known
 * @param onOpen receives a passage whose document is to be shown
 */
export function showPassages(question, { reply, explanations = [] }, onOpen) {
  const { source, passages } = reply;
  const items = passages.map((passage, i) => {
    const span = passage.id === source?.id ? passage.span : undefined;
    const { tokens = [] } = explanations[i] ?? {};
    return passageItem(passage, { question, tokens, span, onOpen });
  });
  byId("evidence").hidden = items.length === 0;
  for (const item of items.slice(SHOWN)) item.hidden = true;
  byId("passages").replaceChildren(...items);
  byId("more")?.remove();
  if (items.length <= SHOWN) return;
  const more = element(
    "button",
    { id: "more", type: "button" },
    `${items.length - SHOWN} more passages`,
  );
  more.addEventListener("click", () => {
    for (const item of items) item.hidden = false;
    items[SHOWN].querySelector("h3").focus();
    more.remove();
  });
  byId("evidence").append(more);
}

/** @param span of the answer, if it stands in this passage */
function passageItem(passage, { question, tokens, span, onOpen }) {
  const { title, text, score, document: name } = passage;
  const answer = span ? [{ ...span, class: "answer" }] : [];
  const marks = [...matchesOf(tokens, "text", question, text), ...answer];
  const inTitle = title ? matchesOf(tokens, "title", question, title) : [];
  const facts = element("p", { class: "facts" }, ...placesOf(passage, scoreText(score)));
  const item = element(
    "li",
    { "data-id": passage.id },
    element("h3", { tabindex: "-1" }, titleOf(passage, inTitle)),
    facts,
    ...foldable(text, marks, span?.start ?? marks[0]?.start ?? 0),
    ...metadataList(passage.metadata),
  );
  if (name !== undefined && onOpen) {
    const open = element("button", { class: "quiet", type: "button" }, "Read in the document");
    open.addEventListener("click", () => onOpen(passage));
    facts.append(open);
  }
  return item;
}

/** A text, folded around a place if it is long. */
function foldable(text, marks, place) {
  const whole = element("div", { class: "text" }, ...textElements(text, marks));
  if (text.length <= LONG) return [whole];
  const start = lineStart(text, place > LONG - BEFORE ? place - BEFORE : 0);
  const end = wordEnd(text, start + LONG);
  const moved = marks.map((mark) => ({
    ...mark,
    start: mark.start - start,
    end: mark.end - start,
  }));
  const part = element("div", { class: "text" }, ...textElements(text.slice(start, end), moved));
  // An excerpt of white space has no elements.
  if (start > 0) (part.firstChild ?? part).prepend("… ");
  if (end < text.length) (part.lastChild ?? part).append(" …");
  const more = element("button", { class: "quiet", type: "button" }, "Show the whole passage");
  more.addEventListener("click", () => {
    part.replaceWith(whole);
    more.remove();
    whole.setAttribute("tabindex", "-1");
    whole.focus();
  });
  return [part, more];
}

/** The beginning of the line, or of the word, at a place. */
function lineStart(text, place) {
  if (place === 0) return 0;
  const line = text.lastIndexOf("\n", place) + 1;
  return place - line < BEFORE ? line : text.lastIndexOf(" ", place) + 1;
}

function wordEnd(text, place) {
  if (place >= text.length) return text.length;
  const end = text.slice(place).search(/\s/);
  return end === -1 ? text.length : place + end;
}

/** The title, which links to the document if it has an address. */
function titleOf({ id, title, document: name, link }, marks = []) {
  const shown = highlighted(title || name || id, title ? marks : []);
  if (link === undefined) return element("span", {}, ...shown);
  return element("a", { href: link, target: "_blank", rel: "noopener" }, ...shown);
}

/** The document and the place in words, and further facts. */
function placesOf({ id, title, document: name, metadata, place }, ...more) {
  const path = metadata?._source ?? name ?? (title ? id : undefined);
  const facts = [path === title ? undefined : path, place, ...more];
  return facts.filter((fact) => fact !== undefined).map((fact) => element("span", {}, fact));
}

/** A probability, or a score of a model without calibration. */
const scoreText = (score) =>
  score >= 0 && score <= 1 ? `${percent(score)} likely to answer` : `score ${score.toFixed(2)}`;

/** The fields that the document gave; those of reatt are shown as its place. */
function metadataList(metadata = {}) {
  const items = Object.entries(metadata)
    .filter(([name]) => !name.startsWith("_"))
    .map(([name, value]) =>
      element("li", {}, `${name}: ${Array.isArray(value) ? value.join(", ") : value}`),
    );
  return items.length > 0 ? [element("ul", { class: "metadata" }, ...items)] : [];
}

/** Shows the passages of a document in their order. @param chosen the id of one of them */
export function showDocument({ document: path, link, passages, omitted }, chosen) {
  showOnly("document");
  byId("document-title").textContent = path;
  const original =
    link && element("a", { href: link, target: "_blank", rel: "noopener" }, "Open the original");
  const rest =
    omitted > 0 ? [element("span", {}, `${omitted} further passages are not shown`)] : [];
  const back = element("button", { class: "quiet", type: "button" }, "Back");
  back.addEventListener("click", () => history.back());
  byId("document-facts").replaceChildren(
    ...(history.length > 1 ? [back] : []),
    ...(original ? [original] : []),
    ...rest,
  );
  let heading = "";
  const items = passages.map((passage) => {
    const isChosen = passage.id === chosen;
    const item = element("li", isChosen ? { id: "chosen", "aria-current": "true" } : {});
    const isNew = passage.title !== heading;
    heading = passage.title;
    if (isNew && heading !== "") item.append(element("h3", {}, heading));
    if (passage.place) item.append(element("p", { class: "facts" }, passage.place));
    item.append(element("div", { class: "text" }, ...textElements(passage.text, [])));
    return item;
  });
  byId("document-passages").replaceChildren(...items);
  byId("document-title").focus({ preventScroll: true });
  byId("chosen")?.scrollIntoView({ block: "center" });
}

const percent = (share) => `${(share * 100).toFixed(0)}\u00a0%`;
