/** Work in its own process, so that memory and caches are of this work only. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Runs `module` with a task, which it reads with `ownTask`. Returns the JSON that it prints. */
export async function runApart<Report>(module: string, task: object): Promise<Report> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(module), JSON.stringify(task)],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${fileURLToPath(module)} ended with ${code}`);
  return JSON.parse(output);
}

/** The task of this process if `runApart` started it for `module`. */
export const ownTask = <Task>(module: string): Task | undefined =>
  process.argv[1] === fileURLToPath(module) ? JSON.parse(process.argv[2]!) : undefined;

/** Peak memory of this process. On Linux `resourceUsage` includes memory of its parent. */
export function peakMegabytes(): number {
  if (process.platform !== "linux") return Math.round(process.resourceUsage().maxRSS / 1000);
  const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))!;
  return Math.round((1024 * Number(kibibytes)) / 1e6);
}
