/** Text on one line without control characters. */
export const plain = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, " ");
