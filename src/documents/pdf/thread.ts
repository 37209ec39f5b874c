/**
 * pdf.js in a thread of its own. A stream of a PDF file can be a thousand times as large as the
 * file, and one instruction can draw a million texts. Nothing in pdf.js limits this, so the thread
 * is ended when it takes too much memory or time.
 */

import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { InputError } from "../../io/errors.ts";
import { formatBytes } from "../../io/format-bytes.ts";
import { startWorker } from "../../io/worker.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { PageText } from "./page.ts";
import type { PdfFile, PdfReply, PdfRequest } from "./pdf-worker.ts";

export interface PdfLimits {
  /** Of objects, such as the texts of a page. */
  readonly heap: number; // bytes
  /** By which the process may grow while a file is read, also by streams. */
  readonly memory: number; // bytes
  /** A page takes 5 ms, a map with a million lines some seconds. */
  readonly pageSeconds: number;
}

const LIMITS: PdfLimits = { heap: 2 ** 30, memory: 1.5 * 2 ** 30, pageSeconds: 120 };
const CHECK_MS = 50;
/** A thread takes 0.3 s to start, so the next file uses the one of the last. */
const IDLE_MS = 10_000;

/** Threads that wait for a file. */
const idle: Worker[] = [];

/** An open PDF file. */
export class PdfThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #file: SourceFile;
  readonly #memory: number = process.memoryUsage.rss();
  readonly #limits: PdfLimits;
  #isUsable = true;

  constructor(file: SourceFile, limits: PdfLimits = LIMITS) {
    this.#file = file;
    this.#limits = limits;
    this.#worker = (limits === LIMITS ? idle.pop() : undefined) ?? start(limits);
    this.#worker.ref();
  }

  /** @throws {InputError} if the file is damaged, or if there is no pdf.js */
  async open(bytes: Uint8Array<ArrayBuffer>): Promise<PdfFile> {
    return (await this.#ask({ open: bytes }, this.#file.path)) as PdfFile;
  }

  /** @throws {InputError} if the page is damaged, or takes too much memory or time */
  async page(number: number): Promise<PageText> {
    return (await this.#ask({ page: number }, `${this.#file.path}, page ${number}`)) as PageText;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isUsable) await this.#ask({ close: true }, this.#file.path).catch(() => {});
    if (this.#isUsable && this.#limits === LIMITS) release(this.#worker);
    else await this.#worker.terminate();
  }

  async #ask(request: PdfRequest, where: string): Promise<unknown> {
    const { memory, pageSeconds } = this.#limits;
    const stop = new AbortController();
    const start = performance.now();
    const check = (): void => {
      const { signal } = this.#file;
      if (signal?.aborted) stop.abort(signal.reason);
      if (process.memoryUsage.rss() - this.#memory > memory)
        stop.abort(beyond(where, `${formatBytes(memory)} of memory`));
      if (performance.now() - start > 1_000 * pageSeconds)
        stop.abort(beyond(where, `${pageSeconds} s for a page`));
    };
    const timer = setInterval(check, CHECK_MS);
    try {
      const { signal } = stop;
      this.#worker.postMessage(request, "open" in request ? [request.open.buffer] : []);
      const [reply] = (await once(this.#worker, "message", { signal })) as [PdfReply];
      if ("value" in reply) return reply.value;
      throw "missing" in reply
        ? withoutPackage(where, reply.missing)
        : damaged(where, reply.damage);
    } catch (error) {
      if (error instanceof InputError) throw error;
      this.#isUsable = false;
      if (stop.signal.aborted) throw stop.signal.reason;
      throw isOutOfMemory(error)
        ? beyond(where, `${formatBytes(this.#limits.heap)} of memory for its texts`)
        : damaged(where, String(error));
    } finally {
      clearInterval(timer);
    }
  }
}

function start({ heap }: PdfLimits): Worker {
  const limits = { maxOldGenerationSizeMb: heap / 2 ** 20 };
  const worker = startWorker("pdf-worker", import.meta.url, undefined, limits);
  worker.on("error", () => {}); // also of an idle thread; `ask` reports those of its file
  worker.once("exit", () => removeIdle(worker));
  return worker;
}

/** Whether the thread was idle. */
function removeIdle(worker: Worker): boolean {
  const at = idle.indexOf(worker);
  if (at !== -1) idle.splice(at, 1);
  return at !== -1;
}

/** Keeps a thread for the next file, for a while. */
function release(worker: Worker): void {
  worker.unref();
  idle.push(worker);
  setTimeout(() => {
    if (removeIdle(worker)) void worker.terminate();
  }, IDLE_MS).unref();
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";

const beyond = (where: string, limit: string): InputError =>
  new InputError({
    code: "ERR_REATT_TOO_LARGE",
    where,
    expected: `a PDF document that needs at most ${limit}`,
    got: "more",
    remedy: "check the file, or ignore it",
  });

const withoutPackage = (where: string, reason: string): InputError =>
  new InputError(
    {
      code: "ERR_REATT_NO_PACKAGE",
      where,
      expected: "the package pdfjs-dist, which reads PDF",
      got: `none that Node ${process.versions.node} can load`,
      remedy: "install it (npm install pdfjs-dist@5), or convert the file to text",
    },
    { cause: reason },
  );

const damaged = (where: string, reason: string): InputError =>
  new InputError({
    where,
    expected: "a PDF document that is whole and has no password",
    got: reason,
    remedy: "save it again, or ignore it",
  });
