/**
 * The page: what the index has, then the answer to a question with its source and the passages. The
 * address has the question and the filter (`?q=…&where=…`), or a document and a part of a passage
 * of it (`?document=…&passage=…&at=12-80`).
 */

import { answer, apiKey, json, KeyError } from "./api.js";
import { byId } from "./dom.js";
import { showFields, showWhere, startFilter } from "./filter.js";
import { showStart } from "./start.js";
import {
  clear,
  plural,
  showDocument,
  showLine,
  showPassages,
  showProblem,
  showReply,
  showText,
} from "./view.js";

const question = byId("question");
/** Passages of a reply; the first ones are shown at once. */
const TOP_K = 10;
/** Bytes of a document that is shown. */
const DOCUMENT_BYTES = 500_000;

/** The request that runs. */
let running;
/** What was shown at each address, so that Back does not ask again. */
const shown = new Map();
let title = "reatt";
let hasStatus = false;

byId("key").value = apiKey.read();
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
// Links of the page itself: an address, which the browser can open in another tab, too.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='?'], #home");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goTo(new URL(link.href).search);
  if (link.id === "home") question.focus();
});
byId("cancel").addEventListener("click", () => running?.abort());
addEventListener("popstate", () => showAddress());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
  const isTyping = /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  question.focus();
  question.select();
});
startFilter(() => question.value.trim() !== "" && ask());
if (matchMedia("(hover: hover)").matches) question.focus(); // on a phone, a keyboard would open
showAddress();
showStatus();

/** What the index is: its title, its size, the fields to filter by. */
async function showStatus() {
  try {
    const status = await json("v1/status");
    title = status.title;
    hasStatus = true;
    byId("home").textContent = title;
    byId("status").textContent = counted(status);
    byId("description").textContent = status.description ?? "";
    showFields(status.fields);
    showTitle();
  } catch (error) {
    byId("status").textContent = error instanceof KeyError ? "" : "The server does not answer";
    if (error instanceof KeyError) byId("key-row").hidden = false;
  }
}

const counted = ({ documents, passages }) =>
  (documents > 0 ? `${plural(documents, "document")}, ` : "") + plural(passages, "passage");

/** Asks anew, also what was asked before. */
function ask() {
  apiKey.store(byId("key").value);
  const values = { q: question.value.trim(), where: byId("where").value.trim() };
  if (values.q === "") return;
  shown.delete(queryOf(values));
  if (!hasStatus) showStatus(); // the key was missing, or the server was away
  go(values);
}

const go = (values) => goTo(queryOf(values));

function goTo(query) {
  if (query !== location.search) history.pushState(null, "", query || location.pathname);
  showAddress();
}

function queryOf(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** Shows what the address says. */
async function showAddress() {
  running?.abort();
  const parameters = new URLSearchParams(location.search);
  const path = parameters.get("document");
  if (path === null) {
    question.value = parameters.get("q") ?? "";
    showWhere(parameters.get("where") ?? "");
  }
  showTitle();
  clear();
  if (path !== null) await run((signal) => openDocument(path, parameters, signal));
  else if (question.value !== "") await run((signal) => showAnswer(signal));
  else await start();
}

/** The first screen, until something is asked. */
async function start() {
  const abort = new AbortController();
  running = abort;
  document.body.dataset.state = "working";
  await showStart(abort.signal);
  if (running !== abort) return;
  running = undefined;
  document.body.dataset.state = "done";
}

function showTitle() {
  const parameters = new URLSearchParams(location.search);
  const [first] = [parameters.get("document"), parameters.get("q")].filter(Boolean);
  document.title = first ? `${first} – ${title}` : title;
}

/** Does the work of an address until another is shown. */
async function run(work) {
  const abort = new AbortController();
  running = abort;
  showRunning(true);
  document.body.dataset.state = "working";
  try {
    await work(abort.signal);
  } catch (error) {
    if (running === abort) showFailure(error, abort.signal.aborted);
  } finally {
    if (running === abort) {
      running = undefined;
      showRunning(false);
      document.body.dataset.state = "done"; // with marks
    }
  }
}

/** The answer comes first, then its passages, then the words that match. */
async function showAnswer(signal) {
  const address = location.search;
  const where = byId("where").value;
  const asked = question.value;
  const known = shown.get(address);
  if (known) {
    showReply(known.reply, where);
    showPassages(asked, known);
    return;
  }
  showLine("Reading…");
  const request = { question: asked, topK: TOP_K, ...(where !== "" && { where }) };
  const reply = await answer(request, signal, (text) => signal.aborted || showText(text));
  if (signal.aborted) return;
  const { passages } = reply;
  showReply(reply, where);
  showPassages(asked, { reply });
  if (passages.length === 0) return;
  const body = { question: asked, passages: passages.map(({ id }) => id) };
  const explained = await json("v1/explain", body, signal).catch(() => undefined);
  if (signal.aborted || !explained) return; // then without marks
  const all = { reply, explanations: explained.results };
  shown.set(address, all);
  showPassages(asked, all);
}

async function openDocument(path, parameters, signal) {
  const document = await json("v1/get", { path, maxBytes: DOCUMENT_BYTES }, signal);
  if (!signal.aborted) showDocument(document, parameters.get("passage"), parameters.get("at"));
}

function showFailure(error, isCancelled) {
  if (isCancelled) return showLine("Cancelled");
  clear();
  showProblem(error.message);
  if (!(error instanceof KeyError)) return;
  byId("key-row").hidden = false;
  byId("key").focus();
}

function showRunning(isRunning) {
  byId("ask").hidden = isRunning;
  byId("cancel").hidden = !isRunning;
}
