/** `reatt completion`: prints a script with which a shell completes commands and options. */

import { type CliCommand, type CommandEntry, defineCommand } from "../line/command.ts";
import { bashScript } from "../line/completion/bash.ts";
import { fishScript } from "../line/completion/fish.ts";
import { type CommandGrammar, grammarOf } from "../line/completion/grammar.ts";
import { zshScript } from "../line/completion/zsh.ts";
import { UsageError } from "../shared/usage-error.ts";

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
