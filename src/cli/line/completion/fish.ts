/** Completion for fish. Source: https://fishshell.com/docs/current/cmds/complete.html */

import type { CommandGrammar, Flag, Value } from "./grammar.ts";

export function fishScript(commands: readonly CommandGrammar[]): string {
  const pairs = commands.map(({ name }) => name).filter((name) => name.includes(" "));
  return `# Completion of reatt for fish.
function __reatt_in --description "Whether the command line has this command"
    set -l words (commandline -opc) "" ""
    set -l command $words[2]
    contains -- "$words[2] $words[3]" ${pairs.map(quote).join(" ")}
    and set command "$words[2] $words[3]"
    test "$command" = help
    and set command ""
    test "$command" = "$argv"
end
complete -c reatt -f
${commands.flatMap(commandLines).join("\n")}
`;
}

function commandLines({ name, flags, operand, subcommands }: CommandGrammar): string[] {
  const complete = (rest: string): string =>
    `complete -c reatt -n ${quote(`__reatt_in ${name}`.trim())} ${rest}`;
  return [
    ...subcommands.map((subcommand) =>
      complete(`-a ${quote(subcommand.name)} -d ${quote(subcommand.summary)}`),
    ),
    ...flags.map((flag) => complete(flagArguments(flag))),
    ...(operand.kind === "nothing" ? [] : [complete(candidates(operand))]),
  ];
}

function flagArguments({ name, help, value }: Flag): string {
  const described = `-l ${name.slice(2)} -d ${quote(help)}`;
  return value ? `${described} -r ${candidates(value)}`.trimEnd() : described;
}

function candidates(value: Value): string {
  if (value.kind === "words") return `-f -a ${quote(value.words.join(" "))}`;
  return { file: "-F", folder: "-f -a '(__fish_complete_directories)'", nothing: "-f" }[value.kind];
}

const quote = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;
