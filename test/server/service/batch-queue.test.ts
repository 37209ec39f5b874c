import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ApiError } from "../../../src/server/service/api-error.ts";
import { type BatchContext, BatchQueue } from "../../../src/server/service/batch-queue.ts";

/** Work that waits until `finish` and returns inputs in upper case. */
function controlledWork() {
  const batches: (readonly string[])[] = [];
  const contexts: BatchContext[] = [];
  const finishers: (() => void)[] = [];
  const work = async (inputs: readonly string[], context: BatchContext): Promise<string[]> => {
    batches.push(inputs);
    contexts.push(context);
    await new Promise<void>((resolve) => finishers.push(resolve));
    context.signal.throwIfAborted();
    return inputs.map((input) => input.toUpperCase());
  };
  return { batches, contexts, finish: () => finishers.shift()!(), work };
}

const never = new AbortController().signal;
const settle = () => setTimeout(20);

test("requests that wait run together, in their order", async () => {
  const queue = new BatchQueue({ waiting: 9, batch: 3 });
  const { batches, work, finish } = controlledWork();
  const submit = (input: string) => queue.submit({ group: "g", input, work, signal: never });
  const first = submit("a");
  await settle();
  const others = ["b", "c", "d", "e"].map(submit);
  assert.is(queue.waiting, 4);
  finish();
  assert.is(await first, "A");
  await settle();
  finish();
  await settle();
  finish();
  assert.equal(await Promise.all(others), ["B", "C", "D", "E"]);
  assert.equal(batches, [["a"], ["b", "c", "d"], ["e"]]);
  await queue.idle();
});

test("groups run one after the other, the oldest first", async () => {
  const order: string[] = [];
  const queue = new BatchQueue({ waiting: 9, batch: 9 });
  const submit = (group: string, input: string) =>
    queue.submit({
      ...{ group, input, signal: never },
      work: async (inputs: readonly string[]) => {
        order.push(`${group}: ${inputs.join()}`);
        return inputs;
      },
    });
  await Promise.all([submit("x", "1"), submit("y", "2"), submit("x", "3"), submit("y", "4")]);
  assert.equal(order, ["x: 1,3", "y: 2,4"]);
});

test("identical inputs are computed once", async () => {
  const queue = new BatchQueue({ waiting: 9, batch: 9 });
  const seen: string[][] = [];
  const pieces: string[] = [];
  const submit = (input: string, name: string) =>
    queue.submit({
      ...{ group: "g", input, signal: never },
      onText: (text) => pieces.push(`${name}${text}`),
      work: async (inputs: readonly string[], { onText }) => {
        seen.push([...inputs]);
        for (const [i] of inputs.entries()) onText!(`:${inputs[i]}`, i);
        return inputs;
      },
    });
  assert.equal(await Promise.all([submit("p", "1"), submit("q", "2"), submit("p", "3")]), [
    ...["p", "q", "p"],
  ]);
  assert.equal(seen, [["p", "q"]]);
  assert.equal(pieces, ["1:p", "3:p", "2:q"]);
});

test("a full queue refuses", async () => {
  const queue = new BatchQueue({ waiting: 1, batch: 1 });
  const { work, finish } = controlledWork();
  const submit = (input: string) => queue.submit({ group: "g", input, work, signal: never });
  const running = submit("a");
  await settle();
  const waiting = submit("b");
  const error = await submit("c").catch((error) => error);
  assert.instance(error, ApiError);
  assert.is(error.code, "overloaded");
  finish();
  await settle();
  finish();
  assert.equal(await Promise.all([running, waiting]), ["A", "B"]);
});

test("a request that is cancelled while it waits leaves the queue", async () => {
  const queue = new BatchQueue({ waiting: 9, batch: 9 });
  const { batches, work, finish } = controlledWork();
  const abort = new AbortController();
  const running = queue.submit({ group: "g", input: "a", work, signal: never });
  await settle();
  const waiting = queue.submit({ group: "g", input: "b", work, signal: abort.signal });
  abort.abort(new Error("gone"));
  assert.is((await waiting.catch((error) => error)).message, "gone");
  assert.is(queue.waiting, 0);
  finish();
  await running;
  await queue.idle();
  assert.equal(batches, [["a"]]);
});

test("a batch stops when all its requests are cancelled, not before", async () => {
  const queue = new BatchQueue({ waiting: 9, batch: 9 });
  const { contexts, work, finish } = controlledWork();
  const aborts = [new AbortController(), new AbortController()];
  const results = aborts.map(({ signal }, i) =>
    queue.submit({ group: "g", input: `${i}`, work, signal }).catch((error) => error.message),
  );
  await settle();
  aborts[0]!.abort(new Error("first"));
  assert.is(contexts[0]!.signal.aborted, false);
  aborts[1]!.abort(new Error("second"));
  assert.is(contexts[0]!.signal.aborted, true);
  assert.equal(await Promise.all(results), ["first", "second"]);
  finish();
  await queue.idle();
});

test("a fault of one request does not fail the others of its batch", async () => {
  const queue = new BatchQueue({ waiting: 9, batch: 9 });
  const submit = (input: string) =>
    queue.submit({
      ...{ group: "g", input, signal: never },
      work: async (inputs: readonly string[]) => {
        if (inputs.includes("bad")) throw new Error("bad input");
        return inputs;
      },
    });
  const results = await Promise.allSettled(["a", "bad", "b"].map(submit));
  assert.equal(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});

test("no request is lost in many random histories", async () => {
  for (let seed = 0; seed < 30; seed++) {
    let state = seed + 1;
    const random = (below: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const queue = new BatchQueue({ waiting: 10, batch: 1 + random(4) });
    const requests = Array.from({ length: 40 }, async (_, i) => {
      await setTimeout(random(30));
      const abort = new AbortController();
      if (random(4) === 0) void setTimeout(random(10)).then(() => abort.abort(new Error("gone")));
      return queue.submit({
        ...{ group: `${random(2)}`, input: i, signal: abort.signal },
        work: async (inputs: readonly number[], { signal }) => {
          await setTimeout(random(3));
          signal.throwIfAborted();
          if (inputs.some((input) => input % 13 === 0)) throw new Error("bad");
          return inputs;
        },
      });
    });
    const results = await Promise.allSettled(requests);
    await queue.idle();
    assert.is(queue.waiting, 0);
    for (const [i, result] of results.entries())
      if (result.status === "fulfilled") assert.is(result.value, i);
      else assert.ok(/^(gone|bad|10 requests)/.test(result.reason.message), result.reason.message);
  }
});

test.run();
