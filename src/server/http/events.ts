/**
 * Answers as server-sent events: `text` events with pieces of the answer, then one `reply` or
 * `error` event. Source: the HTML standard, section 9.2, server-sent events.
 */

import type { ApiError } from "../service/api-error.ts";

interface EventOptions {
  readonly onReply: (bytes: number) => void;
  readonly onError: (error: unknown) => ApiError;
}

/**
 * Answers with events. The response begins with the first event, so an error before it still has
 * its own status.
 *
 * @param work calls `onText` for each piece, and returns the data of the `reply` event
 * @param events `onReply` receives its bytes, and may refuse it; `onError` gives the data of an
 * `error` event
 * @throws the error of `work` if it comes before the first event
 */
export async function streamEvents(
  work: (onText: (text: string) => void) => Promise<object>,
  { onReply, onError }: EventOptions,
): Promise<Response> {
  const encoder = new TextEncoder();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let isOpen = true;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      isOpen = false;
    },
  });
  const send = (event: string, data: object): void => {
    // JSON has no line breaks.
    const bytes = encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (event === "reply") onReply(bytes.length);
    if (isOpen) controller.enqueue(bytes);
  };
  let begin!: () => void;
  const begun = new Promise<"begun">((resolve) => {
    begin = () => resolve("begun");
  });
  const reply = work((text) => {
    send("text", { text });
    begin();
  });
  await Promise.race([begun, reply]);
  reply
    .then((data) => send("reply", data))
    .catch((error: unknown) => send("error", onError(error)))
    .finally(() => {
      if (isOpen) controller.close();
    });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
  return new Response(body, { headers });
}
