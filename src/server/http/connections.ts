/** The open connections of a server: what they may hold, and which of them wait for a reply. */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Bytes of replies that clients have not taken yet, of all connections together. */
const MAX_WAITING_BYTES = 256_000_000;

export class Connections {
  readonly #open = new Set<Socket>();
  /** The replies that are not sent completely, with their connections. */
  readonly #replies = new Map<ServerResponse, Socket>();
  readonly #replyLimit: number;

  /** @param replyLimit milliseconds for which a client may take no byte of a reply */
  constructor(replyLimit: number) {
    this.#replyLimit = replyLimit;
  }

  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      setImmediate(() => this.#endReplies(socket));
    });
  }

  /** A request of a connection has come, and `response` will answer it. */
  begin(socket: Socket, response: ServerResponse): void {
    this.#replies.set(response, socket);
    response.once("close", () => this.#replies.delete(response));
  }

  /**
   * Ends clients that do not take their replies: those without progress after the time limit, and
   * those with the largest replies when all together hold too much memory.
   */
  check(): void {
    for (const [{ writableLength }, socket] of this.#replies) {
      // Node counts the time without progress, and destroys the socket.
      const limit = writableLength > 0 ? this.#replyLimit : 0;
      if (socket.timeout !== limit) socket.setTimeout(limit);
    }
    const waiting = [...this.#replies].filter(([{ writableLength }]) => writableLength > 0);
    let bytes = waiting.reduce((sum, [{ writableLength }]) => sum + writableLength, 0);
    waiting.sort(([a], [b]) => b.writableLength - a.writableLength);
    for (const [{ writableLength }, socket] of waiting) {
      if (bytes <= MAX_WAITING_BYTES) break;
      bytes -= writableLength;
      socket.destroy();
    }
  }

  /** Node tells nothing to the replies that wait behind another one of the connection. */
  #endReplies(socket: Socket): void {
    for (const [response, of] of this.#replies) if (of === socket) response.emit("close");
  }

  endIdle(): void {
    const replied = new Set(this.#replies.values());
    for (const socket of this.#open) if (!replied.has(socket)) socket.destroy();
  }

  /** Ends all connections. Returns the number of requests that were not answered completely. */
  endAll(): number {
    const unanswered = this.#replies.size;
    for (const socket of this.#open) socket.destroy();
    return unanswered;
  }
}
