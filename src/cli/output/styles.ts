/** Whether output has styles. */

/**
 * `FORCE_COLOR` switches styles on, or off with 0 or false. Otherwise they are for a terminal that
 * has colors, unless `NO_COLOR` is set. Sources: https://force-color.org, https://no-color.org
 */
export function hasStyles(
  stream: Pick<NodeJS.WriteStream, "isTTY" | "hasColors">,
  { FORCE_COLOR, NO_COLOR }: NodeJS.ProcessEnv = process.env,
): boolean {
  if (FORCE_COLOR !== undefined) return !/^(0|false)$/.test(FORCE_COLOR);
  return !NO_COLOR && stream.isTTY && stream.hasColors();
}
