/** The memory of replies that clients do not take. */

import { EventEmitter } from "node:events";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Env } from "../../../src/server/http/env.ts";
import { ReplyBudget } from "../../../src/server/http/reply-budget.ts";

const MB = 1_000_000;

test("a connection holds one reply of any size, or several small ones", () => {
  const budget = new ReplyBudget();
  const reply = (socket: object) => {
    const outgoing = new EventEmitter();
    const request = { incoming: { socket }, outgoing } as unknown as Env["Bindings"];
    return {
      take: (bytes: number) => budget.during(request, () => budget.take(bytes)),
      end: () => outgoing.emit("close"),
    };
  };
  const refused = /replies wait for their clients/;
  const [first, second] = [{}, {}];
  const large = reply(first);
  large.take(20 * MB);
  assert.throws(() => reply(first).take(1), refused);
  reply(second).take(1);
  large.end();
  const small = [1, 2].map(() => reply(first));
  for (const one of small) one.take(8 * MB);
  assert.throws(() => reply(first).take(1), refused);
  for (const one of small) one.end();
  reply(first).take(8 * MB);

  const others = Array.from({ length: 15 }, () => reply({}));
  for (const one of others) one.take(16 * MB);
  assert.throws(() => reply({}).take(16 * MB), refused); // 264 MB together
  for (const one of others) one.end();
  reply({}).take(16 * MB);
});

test.run();
