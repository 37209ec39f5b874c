/** Completion for bash 3.2 and later. Source: the section "Programmable Completion" of bash(1) */

import type { CommandGrammar, Value } from "./grammar.ts";

export function bashScript(commands: readonly CommandGrammar[]): string {
  const pairs = commands.map(({ name }) => name).filter((name) => name.includes(" "));
  return `# Completion of reatt for bash.
_reatt() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local command="" flags="" values="" words="" kind="" candidate
  [ "$COMP_CWORD" -gt 1 ] && command=\${COMP_WORDS[1]}
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$command \${COMP_WORDS[2]}" in
      ${pairs.map((pair) => `"${pair}"`).join(" | ")}) command="$command \${COMP_WORDS[2]}" ;;
    esac
  fi
  [ "$command" = help ] && command=""
  case "$command" in
${commands.map(commandCase).join("\n")}
  esac
  COMPREPLY=()
  case "$values$kind$word" in
    nothing* | [a-z]*-*) [ "$values" ] || words=$flags kind=words ;;
  esac
  case "$kind" in
    file) values=$(compgen -f -- "$word") ;;
    folder) values=$(compgen -d -- "$word") ;;
    words) values=$(compgen -W "$words" -- "$word") ;;
    *) values="" ;;
  esac
  [ "$kind" = words ] || compopt -o filenames 2>/dev/null
  while IFS= read -r candidate; do
    [ "$candidate" ] && COMPREPLY+=("$candidate")
  done <<< "$values"
}
complete -F _reatt reatt
`;
}

/** Sets what can follow the previous word: `values` tells that it is a flag with a value. */
function commandCase({ name, flags, operand, subcommands }: CommandGrammar): string {
  const withValue = flags.flatMap(({ name: flag, value }) =>
    value ? [`        ${flag}) values=yes ${assign(value)} ;;`] : [],
  );
  const words = subcommands.map((subcommand) => subcommand.name);
  const first = words.length > 0 ? assign({ kind: "words", words }) : assign(operand);
  return [
    `    "${name}")`,
    `      flags="${flags.map((flag) => flag.name).join(" ")}"`,
    `      case "$previous" in`,
    ...withValue,
    `        *) ${first} ;;`,
    `      esac`,
    `      ;;`,
  ].join("\n");
}

const assign = (value: Value): string =>
  `kind=${value.kind}${value.kind === "words" ? ` words="${value.words.join(" ")}"` : ""}`;
