/** Shows replies and documents. */

import { byId, element } from "./dom.js";
import { highlighted, matchesOf, storedBlocks, textElements } from "./text.js";

/** Passages that are shown at once. */
const SHOWN = 5;
/** Longer texts are folded, in characters. */
const LONG = 700;
/** Characters of a folded text before what it is shown for. */
const BEFORE = 200;
/** Documents whose lines nobody sees: headings say where something stands. */
const MARKUP = /\.(?:html?|xhtml)$/i;

export const plural = (count, name) =>
  `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;

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
  for (const id of ["start", "result", "evidence", "document"])
    byId(id).hidden = !sections.includes(id);
}

/** @param where the filter of the question */
export function showReply(reply, where) {
  const { answer, abstained, confidence, evidence, passages } = reply;
  const [block] = evidence;
  const hasAnswer = !abstained && answer.trim() !== "";
  showOnly("result", ...(passages.length > 0 ? ["evidence"] : []));
  byId("answer").hidden = !hasAnswer && block !== undefined;
  byId("answer").className = hasAnswer ? "" : "quiet";
  byId("answer").textContent = hasAnswer ? answer : withoutAnswer(reply, where);
  showBlock(block, passages);
  byId("confidence").hidden = !hasAnswer && block === undefined;
  byId("confidence").textContent = `${percent(block?.score ?? confidence)} likely to answer`;
  byId("evidence-title").textContent = block || hasAnswer ? "Passages" : "The closest passages";
}

function withoutAnswer({ passages, unknown = [] }, where) {
  const missing = unknown.map((word) => `“${word}”`).join(" or ");
  if (passages.length > 0)
    return missing === ""
      ? "Not sure: no passage clearly answers this."
      : `Not sure: no passage has ${missing}.`;
  return where === "" ? "Nothing found." : "No passage matches the filter.";
}

/** The block that answers, with the answer marked, and where it stands. */
function showBlock(block, passages) {
  byId("block").hidden = !block;
  byId("origin").hidden = !block;
  if (!block) return;
  const { text, span } = block;
  const marks = span ? [{ ...span, class: "answer" }] : [];
  const passage = passages.find(({ id }) => id === block.id) ?? block;
  // What announces the block can stand before it; then its text shows what it consists of.
  const isPart = passage.text?.slice(block.start, block.end) === text;
  const blocks = isPart ? storedBlocks(text, passage.metadata, block.start) : undefined;
  byId("block").replaceChildren(...textElements(text, marks, blocks));
  byId("origin").replaceChildren(
    titleOf(passage),
    ...placesOf(passage),
    ...readLink(passage, block),
  );
}

/** A link to the document of a passage, at a part of its text. */
function readLink({ id, document: name, metadata }, { start, end } = {}) {
  if (name === undefined) return [];
  const at = start === undefined ? {} : { at: `${start}-${end}` };
  const query = new URLSearchParams({ document: metadata?._source ?? name, passage: id, ...at });
  return [element("a", { href: `?${query}` }, "Read in the document")];
}

/** @param asked the reply; and the tokens of its passages that match, once they are known */
export function showPassages(question, { reply, explanations = [] }) {
  const { source, passages, evidence } = reply;
  const items = passages.map((passage, i) => {
    const span = passage.id === source?.id ? passage.span : undefined;
    const { tokens = [] } = explanations[i] ?? {};
    const block = evidence.find(({ id }) => id === passage.id);
    return passageItem(passage, { question, tokens, span, block });
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

/** @param span of the answer, and the block that answers, if they stand in this passage */
function passageItem(passage, { question, tokens, span, block }) {
  const { title, text, metadata } = passage;
  const answer = span ? [{ ...span, class: "answer" }] : [];
  const marks = [...matchesOf(tokens, "text", question, text), ...answer];
  const inTitle = title ? matchesOf(tokens, "title", question, title) : [];
  return element(
    "li",
    { "data-id": passage.id },
    element("h3", { tabindex: "-1" }, titleOf(passage, inTitle)),
    element("p", { class: "facts" }, ...placesOf(passage), ...readLink(passage, block)),
    ...foldable(passage, marks, span?.start ?? block?.start ?? marks[0]?.start ?? 0),
    ...metadataList(metadata),
  );
}

/** A text, folded around a place if it is long. */
function foldable({ text, metadata }, marks, place) {
  const blocks = storedBlocks(text, metadata);
  const whole = element("div", { class: "text" }, ...textElements(text, marks, blocks));
  if (text.length <= LONG) return [whole];
  const start = lineStart(text, place > LONG - BEFORE ? place - BEFORE : 0);
  const end = wordEnd(text, start + LONG);
  const moved = marks.map((mark) => ({
    ...mark,
    start: mark.start - start,
    end: mark.end - start,
  }));
  const excerpt = text.slice(start, end);
  const inside = storedBlocks(excerpt, metadata, start);
  const part = element("div", { class: "text" }, ...textElements(excerpt, moved, inside));
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

/** The document and the place in words. */
function placesOf(passage) {
  const { id, title, document: name, metadata, duplicates = [] } = passage;
  const path = metadata?._source ?? name ?? (title ? id : undefined);
  const others = new Set(duplicates.map((one) => one.document ?? one.id));
  const copies = others.size > 0 ? `also in ${[...others].join(", ")}` : undefined;
  const facts = [path === title ? undefined : path, placeOf(passage), copies];
  return facts.filter((fact) => fact !== undefined).map((fact) => element("span", {}, fact));
}

/** A page, a row, a line of a text. Below headings, the title says where something stands. */
function placeOf({ document: name, metadata, place }) {
  const isOfLines = place?.startsWith("line");
  const hasHeading = metadata?._headings?.length > 0;
  const isMarkup = MARKUP.test(metadata?._source ?? name ?? "");
  return isOfLines && (hasHeading || isMarkup) ? undefined : place;
}

/** The fields that the document gave; those of reatt are shown as its place. */
function metadataList(metadata = {}) {
  const items = Object.entries(metadata)
    .filter(([name]) => !name.startsWith("_"))
    .map(([name, value]) =>
      element("li", {}, `${name}: ${Array.isArray(value) ? value.join(", ") : value}`),
    );
  return items.length > 0 ? [element("ul", { class: "metadata" }, ...items)] : [];
}

/**
 * Shows the passages of a document in their order.
 *
 * @param chosen the id of one of them
 * @param at the part of its text that is marked, `start-end`
 */
export function showDocument({ document: path, link, passages, omitted }, chosen, at) {
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
  const [, start, end] = /^(\d+)-(\d+)$/.exec(at ?? "") ?? [];
  let heading = "";
  const items = passages.map((passage) => {
    const { id, title, text, metadata } = passage;
    const isChosen = id === chosen;
    const item = element("li", isChosen ? { id: "chosen", "aria-current": "true" } : {});
    if (title !== heading && title !== "") item.append(element("h3", {}, title));
    heading = title;
    const place = placeOf({ document: path, ...passage });
    if (place) item.append(element("p", { class: "facts" }, place));
    const isMarked = isChosen && start !== undefined;
    const marks = isMarked ? [{ start: Number(start), end: Number(end), class: "match" }] : [];
    const blocks = storedBlocks(text, metadata);
    item.append(element("div", { class: "text" }, ...textElements(text, marks, blocks)));
    return item;
  });
  byId("document-passages").replaceChildren(...items);
  byId("document-title").focus({ preventScroll: true });
  const shown = byId("chosen")?.querySelector("mark") ?? byId("chosen");
  shown?.scrollIntoView({ block: "center" });
}

const percent = (share) => `${(share * 100).toFixed(0)}\u00a0%`;
