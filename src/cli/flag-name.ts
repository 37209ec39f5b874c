/** `maxPassageTokens` -> `max-passage-tokens`. In a file without zod, which --version does not load. */
export const flagOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
