/** Figures of a server in the format of Prometheus. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Seconds, from a cached page to a long answer. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const BATCH_SIZES = [1, 2, 4, 8, 16];

export interface Metrics {
  readonly contentType: string;
  render(): Promise<string>;
  /**
   * Counts a request that begins. Call the result when it has ended; `route` is the pattern of its
   * path, such as `/v1/passages/:id`.
   */
  startRequest(): (route: string, status: number, seconds: number) => void;
  countBatch(size: number): void;
}

/** Figures that are read when they are rendered. */
export interface Gauges {
  readonly waiting: number;
  readonly passageCount: number;
}

export function createMetrics(gauges: () => Gauges): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: "reatt_requests_total",
    help: "Requests by route and status.",
    registers,
    labelNames: ["route", "status"],
  });
  const running = new Gauge({
    name: "reatt_requests_running",
    help: "Requests that are not answered yet.",
    registers,
  });
  const duration = new Histogram({
    name: "reatt_request_seconds",
    help: "Time of requests by route.",
    registers,
    labelNames: ["route"],
    buckets: SECONDS,
  });
  const batches = new Histogram({
    name: "reatt_batch_size",
    help: "Requests that ran together.",
    registers,
    buckets: BATCH_SIZES,
  });
  const gauge = (name: string, help: string, value: (now: Gauges) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(gauges()));
      },
    });
  };
  gauge("reatt_queue_waiting", "Requests that wait.", ({ waiting }) => waiting);
  gauge("reatt_index_passages", "Passages of the index.", ({ passageCount }) => passageCount);
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    startRequest() {
      running.inc();
      return (route, status, seconds) => {
        running.dec();
        requests.inc({ route, status });
        duration.observe({ route }, seconds);
      };
    },
    countBatch: (size) => batches.observe(size),
  };
}
