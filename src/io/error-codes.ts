/** The codes of `InputError`: status, meaning and remedy, for docs/APPLICATION.md, too. */

/** What a code says. */
interface CodeText {
  /** The status of a reply over HTTP. */
  readonly status: number;
  readonly meaning: string;
  /** What the reader of the error can do. */
  readonly remedy: string;
}

/**
 * A status of 400 or 413: whoever asks can mend it. 409 and 503: it can work later. 500 and 507:
 * whoever runs the program must mend it.
 *
 * Source: RFC 9110, section 15; 507: RFC 4918.
 */
export const INPUT_ERRORS = {
  ERR_REATT_BAD_INPUT: {
    status: 400,
    meaning: "A value, a question, a record or a file is not what it should be",
    remedy: "correct what `where` names",
  },
  ERR_REATT_BAD_OPTION: {
    status: 400,
    meaning: "An option is unknown, missing or out of range",
    remedy: "correct the option",
  },
  ERR_REATT_BAD_CONDITION: {
    status: 400,
    meaning: "A condition does not fit the fields of the passages",
    remedy: "use the fields and types that `got` lists",
  },
  ERR_REATT_TOO_LARGE: {
    status: 413,
    meaning: "A file or folder has more than may be read of one: bytes, records, levels or time",
    remedy: "split it",
  },
  ERR_REATT_NO_FILE: {
    status: 500,
    meaning: "A file or folder does not exist",
    remedy: "check the path",
  },
  ERR_REATT_NO_PERMISSION: {
    status: 500,
    meaning: "The system does not allow it",
    remedy: "change the permissions, or name another place",
  },
  ERR_REATT_TOO_MANY_FILES: {
    status: 503,
    meaning: "Too many files are open",
    remedy: "raise the limit (`ulimit -n`), or close indexes",
  },
  ERR_REATT_DISK_FULL: {
    status: 507,
    meaning: "The disk is full",
    remedy: "free some space and repeat the call",
  },
  ERR_REATT_NO_INDEX: {
    status: 500,
    meaning: "There is no index in the folder",
    remedy: "build it, or check the path",
  },
  ERR_REATT_INDEX_EXISTS: {
    status: 409,
    meaning: "There is an index in the folder, and it may not be replaced",
    remedy: "open it, add to it, or set `replace`",
  },
  ERR_REATT_FOLDER_EXISTS: {
    status: 409,
    meaning: "There is a model, a run or something of others, which may not be replaced",
    remedy: "name another folder, or resume the run",
  },
  ERR_REATT_DAMAGED_INDEX: {
    status: 500,
    meaning: "A file of the index is damaged or missing",
    remedy: "restore the file from a copy, or build the index again",
  },
  ERR_REATT_OTHER_MODEL: {
    status: 500,
    meaning: "The index was made by another model",
    remedy: "load that model, or build the index again",
  },
  ERR_REATT_BUSY: {
    status: 409,
    meaning: "Another process writes there",
    remedy: "repeat the call later, or set `wait`",
  },
  ERR_REATT_NO_MODEL: {
    status: 500,
    meaning: "There is no model in the folder or in the cache",
    remedy: "check the name",
  },
  ERR_REATT_NO_HUB: {
    status: 500,
    meaning: "The hub cannot be reached, or does not answer as a hub does",
    remedy: "check the network, and try again",
  },
  ERR_REATT_STORE_AWAY: {
    status: 503,
    meaning: "The server of a store does not answer",
    remedy: "start it, or try again later",
  },
  ERR_REATT_NO_PACKAGE: {
    status: 500,
    meaning: "An optional package is not installed",
    remedy: "install the package that `expected` names",
  },
  ERR_REATT_CLOSED: {
    status: 500,
    meaning: "The model or the index is closed",
    remedy: "open it again, or close it later",
  },
  ERR_REATT_DEFECT: {
    status: 500,
    meaning: "A reader of documents failed where it should not; `cause` has the stack",
    remedy: "please report it, and ignore the file until it is mended",
  },
} as const satisfies Readonly<Record<string, CodeText>>;

/** A code of an `InputError`. `docs/APPLICATION.md` says what each means. */
export type ErrorCode = keyof typeof INPUT_ERRORS;
