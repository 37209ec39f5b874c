/** A command of commander without options. It loads nothing else, so that help is fast. */

import { Command, type Option } from "commander";

/** Columns of help. */
const HELP_WIDTH = 100;

/** Terms of options in help, where they differ from the flags that commander parses. */
export const helpTerms = new WeakMap<Option, string>();

/** A command that throws errors of commander instead of printing them. */
export const emptyCommand = (name: string): Command =>
  new Command(name)
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption("-h, --help", "show this help")
    .configureHelp({
      helpWidth: HELP_WIDTH,
      optionTerm: (shown) => helpTerms.get(shown) ?? shown.flags,
      optionDescription: ({ description }) => description,
    })
    .configureOutput({
      writeOut: (help) => void process.stdout.write(help),
      writeErr: () => {},
    });
