/** The memory of replies from when they are made until their clients have taken them. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Socket } from "node:net";
import { ApiError } from "../service/api-error.ts";
import type { Env } from "./env.ts";

/** Bytes of all replies. */
const MAX_BYTES = 256_000_000;
/**
 * Bytes of the replies of a connection, except for one: a client can send many requests at once and
 * read nothing.
 */
const MAX_CONNECTION_BYTES = 16_000_000;

type Bindings = Env["Bindings"];

export class ReplyBudget {
  readonly #request = new AsyncLocalStorage<Bindings>();
  readonly #held = new Map<Socket, number>();
  #total = 0;

  /** Does work of a request, for which `take` then counts. */
  during<Result>(request: Bindings, work: () => Result): Result {
    return this.#request.run(request, work);
  }

  /**
   * Counts bytes of the reply to the request until it is sent or its client has gone.
   *
   * @throws {ApiError} `overloaded` if they are too many
   */
  take(bytes: number): void {
    const { incoming, outgoing } = this.#request.getStore()!;
    if (outgoing.destroyed) return;
    const { socket } = incoming;
    const held = this.#held.get(socket) ?? 0;
    if (this.#total + bytes > MAX_BYTES || (held > 0 && held + bytes > MAX_CONNECTION_BYTES))
      throw new ApiError("overloaded", "replies wait for their clients; read them, and try again");
    this.#add(socket, bytes);
    outgoing.once("close", () => this.#add(socket, -bytes));
  }

  #add(socket: Socket, bytes: number): void {
    this.#total += bytes;
    const held = (this.#held.get(socket) ?? 0) + bytes;
    if (held > 0) this.#held.set(socket, held);
    else this.#held.delete(socket);
  }
}
