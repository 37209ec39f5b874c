/** For the processes that campaigns start with a pipe as stdin: they end when the campaign ends. */
export function endWithParent(): void {
  process.stdin.on("close", () => process.exit(1)).resume();
}
