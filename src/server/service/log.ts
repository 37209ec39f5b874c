/** The log of a server: one JSON object a line on stderr. It has no questions and no passages. */

export type LogLevel = "info" | "warn" | "error";

export type Log = (
  level: LogLevel,
  event: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export const logToStderr: Log = (level, event, fields = {}) => {
  const line = { time: new Date().toISOString(), level, event, ...fields };
  process.stderr.write(`${JSON.stringify(line)}\n`);
};
