/** Processes that a campaign kills. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { ownChild } from "./campaign.ts";

/**
 * Starts a script that writes a line when it is ready, and waits for that. The script calls
 * `endWithParent`. This process kills it if it ends before.
 */
export async function startScript(script: string, given: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, ...given], { stdio: ["pipe", "pipe", "inherit"] });
  ownChild(child);
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  return child;
}

/** Kills a process and waits for its end. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}
