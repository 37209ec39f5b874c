/** How a command ends. */

export const EXIT = { done: 0, badInput: 1, wrongUsage: 2, inPart: 3, interrupted: 130 } as const;

/** `in part`: the command left out something that it was asked to read. */
export type CommandEnd = "in part" | undefined;
