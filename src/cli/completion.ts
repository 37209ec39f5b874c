/** `reatt completion`: prints a script with which a shell completes commands and options. */

import { type CliCommand, type CommandEntry, defineCommand } from "./command.ts";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { type CommandGrammar, grammarOf } from "./completion/grammar.ts";
import { zshScript } from "./completion/zsh.ts";
import { UsageError } from "./usage-error.ts";

const SCRIPTS: Readonly<Record<string, (commands: readonly CommandGrammar[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export const completionCommand = (commands: readonly CommandEntry[]): CliCommand =>
  defineCommand({
    options: {},
    operands: { placeholder: Object.keys(SCRIPTS).join("|"), help: "the shell" },
    example: "reatt completion bash > ~/.local/share/bash-completion/completions/reatt",
    async run(_values, _signal, [shell = ""]) {
      if (!Object.hasOwn(SCRIPTS, shell))
        throw new UsageError(`expected ${Object.keys(SCRIPTS).join(", ")}, got "${shell}"`);
      process.stdout.write(SCRIPTS[shell]!(await grammarOf(commands)));
    },
  });
