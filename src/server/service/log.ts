/** The log of a server: one JSON object a line on stderr. It has no questions and no passages. */

export type LogLevel = "info" | "warn" | "error";

export type Log = (
  level: LogLevel,
  event: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** Lines that were lost since the last one that could be written. */
let dropped = 0;

/** Without room on the disk, or without a reader, a line is lost; the next one counts it. */
export const logToStderr: Log = (level, event, fields = {}) => {
  const lost = dropped;
  dropped = 0;
  const line = { time: new Date().toISOString(), level, event, ...fields };
  const counted = lost === 0 ? line : { ...line, dropped: lost };
  process.stderr.write(`${JSON.stringify(counted)}\n`, (error) => {
    if (error) dropped += lost + 1;
  });
};
