/** The names of options on the command line. No zod here: `--version` does not load it. */

/** `maxPassageTokens` -> `max-passage-tokens` */
export const flagOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
