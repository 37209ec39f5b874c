/**
 * The messages of a client over standard input, one a line, without those that are too long: the
 * transport of the SDK closes on one, and its client would wait for an answer.
 */

import { Transform } from "node:stream";

const NEWLINE = 0x0a;
/** Bytes at the ends of a long message in which its id is sought. */
const END_BYTES = 1_000;

/** The answer to a message that is too long. Source: JSON-RPC 2.0, section 5.1. */
export interface Refusal {
  readonly jsonrpc: "2.0";
  /** Of the message; null if it is not at an end of it, where clients write it. */
  readonly id: string | number | null;
  readonly error: { readonly code: -32600; readonly message: string };
}

/**
 * Passes lines of at most `maximum` bytes.
 *
 * @param refuse receives the answer to each longer line
 */
export function shortMessages(maximum: number, refuse: (answer: Refusal) => void): Transform {
  let parts: Buffer[] = [];
  let size = 0;
  const add = (part: Buffer): void => {
    size += part.length;
    parts.push(part);
    if (size <= maximum) return;
    const all = Buffer.concat(parts);
    parts = [Buffer.from(all.subarray(0, END_BYTES)), Buffer.from(all.subarray(-END_BYTES))];
  };
  return new Transform({
    readableObjectMode: true, // each chunk is a line
    transform(chunk: Buffer, _, done) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(NEWLINE, start);
        add(chunk.subarray(start, end === -1 ? chunk.length : end + 1));
        if (end === -1) break;
        if (size <= maximum) this.push(Buffer.concat(parts));
        else refuse(refusal(parts, maximum));
        [parts, size, start] = [[], 0, end + 1];
      }
      done();
    },
  });
}

function refusal(ends: readonly Buffer[], maximum: number): Refusal {
  const [head, tail] = [ends[0]!.toString(), ends.at(-1)!.toString()];
  const message = `a message has at most ${maximum.toLocaleString("en")} bytes`;
  return { jsonrpc: "2.0", id: idIn(head, tail), error: { code: -32600, message } };
}

const ID = `"id"\\s{0,9}:\\s{0,9}("[^"\\\\]{0,200}"|-?[0-9]{1,16})`;
/** After other fields of one text, so that it is no field of an argument. */
const FIRST = new RegExp(
  `^\\{(?:\\s{0,9}"(?:jsonrpc|method)"\\s{0,9}:\\s{0,9}"[^"\\\\]{0,200}",){0,2}\\s{0,9}${ID}\\s{0,9},`,
);
const LAST = new RegExp(`,\\s{0,9}${ID}\\s{0,9}\\}\\s{0,9}$`);

function idIn(head: string, tail: string): string | number | null {
  const [, found] = FIRST.exec(head) ?? LAST.exec(tail) ?? [];
  return found === undefined ? null : (JSON.parse(found) as string | number);
}
