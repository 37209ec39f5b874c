/** What the scripts of this folder share: `npx tsx test/campaigns/NAME.ts --count N`. */

import { parseArgs } from "node:util";

/** The value of `--count`. */
export function countOption(standard: number): number {
  const { values } = parseArgs({ options: { count: { type: "string" } } });
  const count = Number(values.count ?? standard);
  if (!Number.isInteger(count) || count < 1) throw new Error(`--count ${values.count}`);
  return count;
}

export interface Failures {
  add(what: string, error: unknown): void;
  readonly count: number;
}

/** Collects failures and prints the first of them. */
export function collectFailures(): Failures {
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(what, error) {
      if (count++ < 10)
        console.log(`FAILED ${what}: ${error instanceof Error ? error.message : error}`);
    },
  };
}

/** Prints the counts in one line and sets the exit code. */
export function finish(counts: Readonly<Record<string, number>>, failures: Failures): void {
  const parts = Object.entries({ ...counts, failures: failures.count });
  console.log(parts.map(([name, count]) => `${name} ${count}`).join(", "));
  process.exitCode = failures.count > 0 ? 1 : 0;
}
