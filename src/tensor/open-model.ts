/** Opens models with onnxruntime-node. */

import "./no-telemetry.ts"; // before onnxruntime is loaded

import { InferenceSession } from "onnxruntime-node";
import { physicalCores } from "./physical-cores.ts";

/**
 * Time that an idle thread spins before it sleeps. By default the threads of each session spin for
 * milliseconds and take cores from the next session and from other programs: on 2 shared cores, a
 * run then needs 1.7 times the processor time. Without any spinning, runs of 2 ms take 10 % longer.
 */
const IDLE_SPIN_US = 10;

/** Counted once: a session can be made while no file can be opened. */
export const CORES = physicalCores();

/** Options that all sessions have. */
export const sessionOptions = (
  provider: InferenceSession.ExecutionProviderConfig,
  threads: number | undefined,
  session: Readonly<Record<string, string>> = {},
): InferenceSession.SessionOptions => ({
  executionProviders: [provider],
  logSeverityLevel: 3, // errors only; the warnings are about the assignment of nodes to providers
  extra: { session: { intra_op: { spin_duration_us: String(IDLE_SPIN_US) }, ...session } },
  ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
});

/** Opens an encoded model on the processor, for operators that `Ops` does not have. */
export const openModel = (model: Uint8Array): Promise<InferenceSession> =>
  InferenceSession.create(model, sessionOptions("cpu", CORES));
