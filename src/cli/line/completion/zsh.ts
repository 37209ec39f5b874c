/** Completion for zsh. Source: zshcompsys(1), `_arguments` and `_describe` */

import type { CommandGrammar, Flag, Value } from "./grammar.ts";

export function zshScript(commands: readonly CommandGrammar[]): string {
  const pairs = commands.map(({ name }) => name).filter((name) => name.includes(" "));
  return `#compdef reatt
# Completion of reatt for zsh.
_reatt() {
  local command="" skip=1
  local -a subcommands
  (( CURRENT > 2 )) && command=$words[2] skip=2
  if (( CURRENT > 3 )); then
    case "$words[2] $words[3]" in
      ${pairs.map((pair) => `"${pair}"`).join("|")})
        command="$words[2] $words[3]" skip=3 ;;
    esac
  fi
  [[ $command = help ]] && command=""
  words=("\${(@)words[skip,-1]}")
  (( CURRENT -= skip - 1 ))
  case "$command" in
${commands.map(commandCase).join("\n")}
  esac
}
if [[ "$funcstack[1]" = _reatt ]]; then
  _reatt "$@"
else
  compdef _reatt reatt
fi
`;
}

function commandCase({ name, flags, operand, subcommands }: CommandGrammar): string {
  const described = subcommands.map(
    (subcommand) => `        ${quote(`${subcommand.name}:${subcommand.summary}`)}`,
  );
  const first =
    subcommands.length === 0
      ? []
      : [
          "      subcommands=(",
          ...described,
          "      )",
          "      (( CURRENT == 2 )) && _describe command subcommands",
        ];
  const specs = [...flags.map(argument), ...(operand.kind === "nothing" ? [] : [rest(operand)])];
  return [
    `    (${name === "" ? '""' : quote(name)})`,
    ...first,
    `      _arguments -S \\`,
    `        ${specs.join(" \\\n        ")}`,
    `      ;;`,
  ].join("\n");
}

/** \`--top-k[help]:value:action\` */
const argument = ({ name, help, value }: Flag): string =>
  quote(`${name}[${help.replace(/[[\]\\]/g, "\\$&")}]${value ? `:value:${actionOf(value)}` : ""}`);

const rest = (value: Value): string => quote(`*:value:${actionOf(value)}`);

function actionOf(value: Value): string {
  if (value.kind === "words") return `(${value.words.join(" ")})`;
  return { file: "_files", folder: "_files -/", nothing: " " }[value.kind];
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
