import { InputError } from "../../io/errors.ts";

/** A problem of a file of options, which has the names of the library, not those of flags. */
export class OptionsFileError extends InputError {}
