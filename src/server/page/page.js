/**
 * The page: asks, shows the answer while it is generated, then the passages that it comes from.
 * Text of passages only ever becomes text nodes.
 */

const KEY_NAME = "reatt-api-key";
/** The line breaks of a paragraph with lines of a fixed width. Lists, tables and code keep theirs. */
const WRAPPED = /(?<=[^\n]{50})\n(?=[\p{L}("“‘`])/gu;
const byId = (id) => document.getElementById(id);
const form = byId("form");
const question = byId("question");
const keyInput = byId("key");

/** The request that runs. */
let running;

keyInput.value = sessionStorage.getItem(KEY_NAME) ?? "";
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
byId("cancel").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  question.focus();
  question.select();
});
if (matchMedia("(hover: hover)").matches) question.focus(); // on a phone, a keyboard would open
showStatus();

async function showStatus() {
  try {
    const { passages } = await (await fetch("/healthz")).json();
    byId("status").textContent = `${passages.toLocaleString("en")} passages`;
  } catch {
    byId("status").textContent = "The server does not answer";
  }
}

async function ask() {
  running?.abort();
  const abort = new AbortController();
  running = abort;
  showRunning(true);
  showProblem();
  showAnswer("Reading…", true);
  byId("confidence").hidden = true;
  byId("evidence").hidden = true;
  try {
    const reply = await streamAnswer(readForm(), abort.signal);
    if (running === abort) {
      showReply(reply);
      await showMatches(reply, abort.signal);
    }
  } catch (error) {
    if (running === abort) showFailure(error, abort.signal.aborted);
  } finally {
    if (running === abort) {
      running = undefined;
      showRunning(false);
    }
  }
}

function readForm() {
  const where = byId("where").value.trim();
  const topK = byId("top-k").value;
  return {
    question: question.value,
    ...(topK !== "" && { topK: Number(topK) }),
    ...(where !== "" && { where }),
  };
}

/** Sends JSON, with the key if there is one. Throws the message of an error. */
async function post(path, body, signal, accept = "application/json") {
  sessionStorage.setItem(KEY_NAME, keyInput.value);
  const headers = { "Content-Type": "application/json", Accept: accept };
  if (keyInput.value !== "") headers.Authorization = `Bearer ${keyInput.value}`;
  const options = { method: "POST", headers, body: JSON.stringify(body), signal };
  const response = await fetch(path, options);
  if (response.ok) return response;
  if (response.status === 401) {
    byId("key-row").hidden = false;
    keyInput.focus();
    throw new Error(
      keyInput.value === ""
        ? "Enter an API key: this server needs one."
        : "The server does not accept this API key.",
    );
  }
  const { error } = await response.json().catch(() => ({}));
  throw new Error(error?.message ?? `The server answered with status ${response.status}`);
}

/** Shows the answer piece by piece, and returns the reply. */
async function streamAnswer(request, signal) {
  const response = await post("/v1/answer", request, signal, "text/event-stream");
  let answer = "";
  for await (const { event, data } of events(response.body)) {
    if (event === "text") {
      answer += data.text;
      showAnswer(answer);
    }
    if (event === "reply") return { ...data, question: request.question };
    if (event === "error") throw new Error(data.error.message);
  }
  throw new Error("The connection ended before the answer was complete");
}

/**
 * The server-sent events of a body, whose data is JSON. Source: the HTML standard, section 9.2.6,
 * interpreting an event stream.
 */
async function* events(body) {
  let event = "";
  let data = [];
  for await (const line of lines(body)) {
    const [, field, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line);
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (line === "") {
      if (data.length > 0) yield { event, data: JSON.parse(data.join("\n")) };
      event = "";
      data = [];
    }
  }
}

/** The complete lines of a body, which end with a line feed, a carriage return, or both. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r\n|\n|\r(?!$)/); // a line feed may follow the last \r
    rest = parts.pop();
    yield* parts;
  }
}

function showReply({ answer, abstained, confidence, passages }) {
  showAnswer(abstained || answer.trim() === "" ? "No answer" : answer, abstained);
  byId("confidence").hidden = false;
  byId("confidence-bar").style.width = `${confidence * 100}%`;
  byId("confidence-text").textContent = `Confidence ${percent(confidence)}`;
  byId("evidence").hidden = passages.length === 0;
  byId("passages").replaceChildren(...passages.map((passage) => passageItem(passage)));
}

/** Highlights, in each passage, the tokens that match those of the question. */
async function showMatches({ question, passages }, signal) {
  if (passages.length === 0) return;
  const body = { question, passages: passages.map(({ id }) => id) };
  const { results } = await (await post("/v1/explain", body, signal)).json();
  const items = passages.map((passage, i) => passageItem(passage, results[i].tokens));
  byId("passages").replaceChildren(...items);
}

function passageItem(passage, tokens = []) {
  const { id, title, text, score, attention, span, metadata = {} } = passage;
  const bar = element("span", { class: "bar" }, element("span"));
  bar.firstChild.style.width = `${attention * 100}%`;
  const answer = span ? [{ ...span, class: "answer" }] : [];
  return element(
    "li",
    {},
    element("h3", {}, ...highlighted(title || id, title ? matchesOf(tokens, "title") : [])),
    element(
      "p",
      { class: "facts" },
      bar,
      `Attention ${percent(attention)}`,
      element("span", {}, `Score ${score.toFixed(2)}`),
      ...(title ? [element("span", {}, id)] : []),
    ),
    element(
      "p",
      { class: "text" },
      ...highlighted(text.replace(WRAPPED, " "), [...matchesOf(tokens, "text"), ...answer]),
    ),
    ...metadataList(metadata),
  );
}

function metadataList(metadata) {
  const items = Object.entries(metadata).map(([name, value]) =>
    element("li", {}, `${name}: ${Array.isArray(value) ? value.join(", ") : value}`),
  );
  return items.length > 0 ? [element("ul", { class: "metadata" }, ...items)] : [];
}

/** The parts of a field that match tokens of the question, best matches marked as strong. */
function matchesOf(tokens, field) {
  const best = Math.max(...tokens.map(({ score }) => score));
  return tokens
    .filter(({ span, match }) => span && match.span && match.field === field)
    .map(({ token, score, match }) => ({
      ...match.span,
      class: score > best / 2 ? "match strong" : "match",
      title: `matches "${token}"`,
    }));
}

/** A text as nodes, with marks over parts of it. Of marks that overlap, the last one is shown. */
function highlighted(text, marks) {
  const ends = new Set([0, text.length, ...marks.flatMap(({ start, end }) => [start, end])]);
  const cuts = [...ends].sort((a, b) => a - b);
  return cuts.slice(1).map((end, i) => {
    const part = text.slice(cuts[i], end);
    const mark = marks.findLast((mark) => mark.start <= cuts[i] && mark.end >= end);
    return mark ? element("mark", attributesOf(mark), part) : part;
  });
}

const attributesOf = ({ class: name, title }) => ({ class: name, ...(title && { title }) });

/** An element with attributes and children; text becomes text nodes. */
function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

function showAnswer(text, isQuiet = false) {
  byId("result").hidden = false;
  byId("answer").textContent = text;
  byId("answer").classList.toggle("quiet", isQuiet);
}

function showFailure(error, isCancelled) {
  if (isCancelled) return showAnswer("Cancelled", true);
  byId("result").hidden = true;
  showProblem(error.message);
}

function showProblem(message = "") {
  byId("problem").textContent = message;
  byId("problem").hidden = message === "";
}

function showRunning(isRunning) {
  byId("ask").hidden = isRunning;
  byId("cancel").hidden = !isRunning;
}

function percent(share) {
  return `${(share * 100).toFixed(0)}\u00a0%`;
}
