#!/bin/bash
# Completion for bash or zsh, from the tools' own option tables (--list-options) and from what their help says: the commands
# under Usage, the values in --jit=auto|on|off. Usage: completion.sh bash|zsh TOOL...   with the tools in PATH.
shell=$1
shift

commands() { "$1" --help | sed -n "s/^[Usage: ]* $1 \([a-z][a-z-]*\)\( .*\|\$\)/\1/p" | sort -u | paste -sd' '; }
values() { "$1" --help | grep -o -e "--$2=[a-z]*|[a-z|]*" | head -n 1 | sed 's/.*=//; s/|/ /g'; }
table() { "$@" --list-options; } # of a tool, or of a tool's command: long form, letter, none|required|optional
spellings() { table "$@" | awk '{ if ($1 != "-") print $1; if ($2 != "-") print "-" $2 }' | paste -sd' '; }
names_with_values() { # "name", for each option of a tool that has a choice of values
  local command
  for command in '' $(commands "$1"); do table "$1" $command; done | sed -n 's/^--\([^ ]*\) .* required$/\1/p' | sort -u |
    while read -r name; do [ "$(values "$1" "$name")" ] && echo "$name"; done
}

bash_tool() {
  local tool=$1 name command
  echo "_$tool() {"
  echo '  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} words'
  echo '  [ "$current" = "=" ] && current=                                  # --jit=on is three words: --jit, =, on'
  echo '  [ "$option" = "=" ] && option=${COMP_WORDS[COMP_CWORD-2]}'
  echo '  case $option in'
  for name in $(names_with_values "$tool"); do
    echo "  --$name) COMPREPLY=(\$(compgen -W '$(values "$tool" "$name")' -- \"\$current\")); return ;;"
  done
  echo '  esac'
  echo '  case ${COMP_WORDS[1]} in'
  for command in $(commands "$tool"); do echo "  $command) words='$(spellings "$tool" "$command")' ;;"; done
  echo "  *) words='$(spellings "$tool")' ;;"
  echo '  esac'
  echo "  [ \"\$COMP_CWORD\" = 1 ] && words+=' $(commands "$tool")'"
  echo '  COMPREPLY=($(compgen -W "$words" -- "$current"))'
  echo '  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))'
  echo '}'
  echo "complete -o filenames -F _$tool $tool"
}

zsh_arguments() { # of a tool, or of a tool's command
  local long letter argument value choice
  echo "    _arguments -s \\"
  while read -r long letter argument; do
    choice=$(values "$1" "${long#--}")
    value=":${long#--}:${choice:+($choice)}"
    case $argument in
    none) value= ;;
    required) [ "$choice" ] || value+=_files; [ "$long" = - ] || long+== ;;
    optional) value=; long+==- ;;
    esac
    [ "$long" = - ] || echo "      '*$long$value' \\"
    [ "$letter" = - ] || echo "      '*-$letter$value' \\"
  done < <(table "$@")
  echo "      '*:file:_files' ;;"
}
zsh_tool() {
  local tool=$1 command
  echo "_$tool() {"
  [ "$(commands "$tool")" ] && echo "  (( CURRENT == 2 )) && compadd $(commands "$tool")"
  echo '  case $words[2] in'
  for command in $(commands "$tool"); do
    echo "  $command)"
    zsh_arguments "$tool" "$command"
  done
  echo '  *)'
  zsh_arguments "$tool"
  echo '  esac'
  echo '}'
}

case $shell in
bash) for tool; do bash_tool "$tool"; done ;;
zsh)
  echo "#compdef $*"
  for tool; do zsh_tool "$tool"; done
  echo '_$service "$@"' ;;
esac
