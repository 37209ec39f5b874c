/** What a model needs to load, index, search and answer: each in a process of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runApart } from "../bench-index/subprocess.ts";
import type { Report, Task } from "./measure.ts";

export interface TaskReport extends Report {
  readonly what: Task["what"];
}

const MEASURE = import.meta.resolve("./measure.ts");

/** The reports of the three tasks, one after the other. */
export async function* taskReports(
  model: string,
  sizes: Pick<Task, "passages" | "topK">,
): AsyncGenerator<TaskReport, void> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-memory-"));
  try {
    const index = join(folder, "index");
    for (const what of ["index", "retrieve", "answer"] as const) {
      const task: Task = { what, model, index, ...sizes };
      yield { what, ...(await runApart<Report>(MEASURE, task)) };
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
