/** Requests to the server of this page, whatever path a proxy gives it. */

const KEY_NAME = "reatt-api-key";
const AWAY =
  "The server does not answer. Check that reatt serve runs and that you are connected, then ask again.";

/** The API key of this tab. A frame of another site may have no storage. */
export const apiKey = {
  value: "",
  read() {
    try {
      this.value = sessionStorage.getItem(KEY_NAME) ?? "";
    } catch {}
    return this.value;
  },
  store(value) {
    this.value = value;
    try {
      sessionStorage.setItem(KEY_NAME, value);
    } catch {}
  },
};

/** A missing or a wrong key. */
export class KeyError extends Error {}

const address = (path) => new URL(path, import.meta.url);

/** @param body undefined for a GET */
export async function send(path, body, signal, accept = "application/json") {
  const headers = { Accept: accept };
  if (apiKey.value !== "") headers.Authorization = `Bearer ${apiKey.value}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(address(path), {
    ...{ method, headers, signal },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error) => {
    throw signal?.aborted ? error : new Error(AWAY);
  });
  if (response.ok) return response;
  if (response.status === 401)
    throw new KeyError(
      apiKey.value === ""
        ? "Enter an API key: this server needs one."
        : "The server does not accept this API key.",
    );
  const { error } = await response.json().catch(() => ({}));
  if (!error && [502, 503, 504].includes(response.status)) throw new Error(AWAY); // of a proxy
  throw new Error(error?.message ?? `The server answered with status ${response.status}.`);
}

export const json = async (...request) => (await send(...request)).json();

/** Asks, and returns the reply. `onText` receives the answer as it grows. */
export async function answer(request, signal, onText) {
  const response = await send("v1/answer", request, signal, "text/event-stream");
  let text = "";
  for await (const { event, data } of events(response.body)) {
    if (event === "text") {
      text += data.text;
      onText(text);
    }
    if (event === "reply") return data;
    if (event === "error") throw new Error(data.error.message);
  }
  throw new Error("The connection ended before the answer was complete. Ask again.");
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
