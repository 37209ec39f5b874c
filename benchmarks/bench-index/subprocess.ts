/** Work in a process of its own, so that what is measured of memory and caches is of this work alone. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Starts `module` with a task, which it finds with `ownTask`, and returns the JSON that it prints. */
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

/** The task of this process, if it was started for `module`. */
export const ownTask = <Task>(module: string): Task | undefined =>
  process.argv[1] === fileURLToPath(module) ? JSON.parse(process.argv[2]!) : undefined;

/** Of this process, until now. On Linux `resourceUsage` would count what the process that started it had in memory. */
export function peakMegabytes(): number {
  if (process.platform !== "linux") return Math.round(process.resourceUsage().maxRSS / 1000);
  const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))!;
  return Math.round((1024 * Number(kibibytes)) / 1e6);
}
