/** Long messages over standard input are answered, and the others pass as they are. */

import { Readable } from "node:stream";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../src/math/random.ts";
import { type Refusal, shortMessages } from "../../src/server/short-messages.ts";

/** What passes of `text` in chunks of these sizes, and what is refused. */
async function passed(text: string, maximum: number, sizes: () => number) {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = sizes();
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  const refused: Refusal[] = [];
  const lines: string[] = [];
  const messages = Readable.from(chunks).pipe(shortMessages(maximum, (one) => refused.push(one)));
  for await (const line of messages) lines.push(String(line));
  return { lines, refused };
}

test("lines that are short enough pass whole, however they arrive", async () => {
  const random = createRandom("messages");
  for (let i = 0; i < 200; i++) {
    const lines = Array.from(
      { length: 1 + random.integer(6) },
      () => `${"ä".repeat(random.integer(15))}\n`,
    );
    const result = await passed(lines.join(""), 20, () => 1 + random.integer(40));
    const isShort = (line: string): boolean => Buffer.byteLength(line) <= 20;
    assert.equal(result.lines, lines.filter(isShort));
    assert.is(result.refused.length, lines.length - result.lines.length);
  }
});

test("a long message is answered by its id, where clients write it", async () => {
  const long = "x".repeat(5_000);
  const inner = `"params":{"id":9,"text":"${long}"}`;
  for (const [message, id] of [
    [`{"method":"a",${inner},"jsonrpc":"2.0","id":7}`, 7],
    [`{"jsonrpc":"2.0","id":"q",${inner}}`, "q"],
    [`{"jsonrpc": "2.0", "method": "a", "id": 3, ${inner}}`, 3],
    [`{"jsonrpc":"2.0",${inner},"id":-1 } `, -1],
    [`{"method":"a",${inner},"jsonrpc":"2.0"}`, null],
    [`{${inner}}`, null],
    [`{"text":"${long}","params":{"id":9}}`, null],
    [`{"text":"${long},\\"id\\":9}"}`, null],
    [long, null],
  ] as const) {
    const { lines, refused } = await passed(`${message}\nshort\n`, 4_000, () => 1_500);
    assert.equal(lines, ["short\n"]);
    const error = { code: -32600, message: "a message has at most 4,000 bytes" };
    assert.equal(refused, [{ jsonrpc: "2.0", id, error }], message.slice(0, 60));
  }
});

test.run();
