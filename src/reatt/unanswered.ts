/** What was asked in vain: questions that no block of the documents answers, in a local file. */

import { appendFile } from "node:fs/promises";
import type { Reply } from "../decoder/answers.ts";
import { writeErrorFrom } from "../io/errors.ts";
import type { PassageInput } from "../text/passage.ts";

/** Only the user of the process may read what people asked. */
const MODE = 0o600;

/**
 * Appends a line `{"question","time"}` to a file if a reply has neither an answer nor evidence.
 * `readQuestions` reads the file. What cannot be written costs a warning, and not the reply.
 */
export async function recordUnanswered(
  file: string,
  question: string,
  { abstained, error }: Pick<Reply<PassageInput>, "abstained" | "error">,
): Promise<void> {
  if (!abstained || error) return;
  const line = JSON.stringify({ question, time: new Date().toISOString() });
  try {
    await appendFile(file, `${line}\n`, { mode: MODE });
  } catch (cause) {
    const { message } = writeErrorFrom(cause, file) as Error;
    process.emitWarning(
      `a question without an answer was not recorded: ${message}`,
      "ReAttWarning",
    );
  }
}
