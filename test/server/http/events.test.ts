/** Answers as events, whose replies count as those that are sent at once. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { streamEvents } from "../../../src/server/http/events.ts";
import { ApiError } from "../../../src/server/service/api-error.ts";

const work = async (onText: (text: string) => void): Promise<object> => {
  onText("James");
  return { answer: "James Watt, Zürich" };
};
const onError = (error: unknown): ApiError => error as ApiError;

test("the bytes of the reply are counted", async () => {
  const counted: number[] = [];
  const onReply = (bytes: number): void => void counted.push(bytes);
  const text = await (await streamEvents(work, { onReply, onError })).text();
  const [first, reply] = text.split(/(?<=\n\n)/);
  assert.is(first, 'event: text\ndata: {"text":"James"}\n\n');
  assert.match(reply!, /^event: reply\ndata: \{"answer":"James Watt, Zürich"\}\n\n$/);
  assert.equal(counted, [Buffer.byteLength(reply!)]);
});

test("a reply that is refused is an error event", async () => {
  const onReply = (): void => {
    throw new ApiError("overloaded", "replies wait for their clients");
  };
  const text = await (await streamEvents(work, { onReply, onError })).text();
  assert.match(text, /event: error\ndata: \{.*replies wait for their clients/);
  assert.not.match(text, "event: reply");
});

test.run();
