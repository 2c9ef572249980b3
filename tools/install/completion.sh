#!/bin/bash
# Completion for bash or zsh, from the tools' own option tables (--list-options) and from what their help says: the
# commands under Usage, the values in --jit=auto|on|off. Usage: completion.sh bash|zsh TOOL...   with the tools in
# PATH.
shell=$1
shift

commands() { "$1" --help | sed -n "s/^[Usage: ]* $1 \([a-z][a-z-]*\)\( .*\|\$\)/\1/p" | sort -u | paste -sd' '; }
values() { "$1" --help | grep -o -e "--$2=[a-z]*|[a-z|]*" | head -n 1 | sed 's/.*=//; s/|/ /g'; }
table() { "$@" --list-options; } # of a tool, or of a tool's command: long form, letter, none|required|optional
spellings() { table "$@" | awk '{ if ($1 != "-") print $1; if ($2 != "-") print "-" $2 }' | paste -sd' '; }
names_with_values() { # "name", for each option of a tool that has a choice of values
  local command
  for command in '' $(commands "$1"); do table "$1" $command
  done | sed -n 's/^--\([^ ]*\) .* required$/\1/p' | sort -u |
    while read -r name; do [ "$(values "$1" "$name")" ] && echo "$name"; done
}

# What mxasm says of the program on the line: its kernels; the parameters of all of them, or of the one behind -k.
words_of_programs() {
  cat << 'END'
_mx_program() {
  local w; for w in "$@"; do case $w in *.mxs | *.ptx | *.mxb) [ -f "$w" ] && echo "$w" && return ;; esac; done
}
_mx_kernels() { mxasm -c -v --json -- "$1" 2> /dev/null | grep -o '"kernel": "[^"]*"' | cut -d'"' -f4; }
_mx_parameters() {
  mxasm -c -v --json -- "$1" 2> /dev/null | grep "\"kernel\": \"${2:-.*}\"" | grep -o '"params": \[[^]]*\]' |
    cut -d'[' -f2 | grep -o '"[^"]*"' | tr -d '"' | sort -u
}
_mx_operations() { mxasm --list-ops 2> /dev/null | cut -d' ' -f1 | sort -u; }
END
}
mxrun_words() { # for bash: what stands on the line besides options
  cat << 'END'
  local program=$(_mx_program "${COMP_WORDS[@]:1}") kernel= k
  for ((k = 1; k + 1 < ${#COMP_WORDS[@]}; k++)); do
    case ${COMP_WORDS[k]} in -k | --kernel) kernel=${COMP_WORDS[k+1]} ;; esac
  done
  case $option in -k | --kernel) COMPREPLY=($(compgen -W "$(_mx_kernels "$program")" -- "$current")); return ;; esac
  case $current in
  *@*) compopt -o nospace 2> /dev/null; COMPREPLY=($(compgen -P "${current%%@*}@" -f -- "${current#*@}")); return ;;
  esac
  [ "${COMP_WORDS[1]}" = cache ] && [ "$COMP_CWORD" = 2 ] && {
    COMPREPLY=($(compgen -W 'list why clear' -- "$current")); return
  }
END
}
mxrun_parameters() {
  cat << 'END'
  [ "$program" ] && [[ $current != -* ]] && {
    compopt -o nospace 2> /dev/null
    COMPREPLY+=($(compgen -S = -W "$(_mx_parameters "$program" "$kernel")" -- "$current"))
  }
END
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
  [ "$tool" = mxasm ] && echo '  --list-ops) COMPREPLY=($(compgen -W "$(_mx_operations)" -- "$current")); return ;;'
  echo '  esac'
  [ "$tool" = mxrun ] && mxrun_words
  echo '  case ${COMP_WORDS[1]} in'
  for command in $(commands "$tool"); do echo "  $command) words='$(spellings "$tool" "$command")' ;;"; done
  echo "  *) words='$(spellings "$tool")' ;;"
  echo '  esac'
  echo "  [ \"\$COMP_CWORD\" = 1 ] && words+=' $(commands "$tool")'"
  echo '  COMPREPLY=($(compgen -W "$words" -- "$current"))'
  echo '  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))'
  [ "$tool" = mxrun ] && mxrun_parameters
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
    case $1.$long in
    mxrun.--kernel) value=':kernel:{compadd -- $(_mx_kernels "$(_mx_program $words)")}' ;;
    mxasm.--list-ops) value='::instruction:{compadd -- $(_mx_operations)}' ;;
    esac
    [ "$letter" = - ] || echo "      '*-$letter$value' \\"
  done < <(table "$@")
  case $1.$2 in
  mxrun.) echo "      '*:argument:_mx_arguments' ;;" ;;
  mxrun.cache) echo "      '2:command:(list why clear)' '*:file:_files' ;;" ;;
  *) echo "      '*:file:_files' ;;" ;;
  esac
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
bash)
  words_of_programs
  for tool; do bash_tool "$tool"; done ;;
zsh)
  echo "#compdef $*"
  words_of_programs
  cat << 'END'
_mx_arguments() {
  if compset -P '*@'; then _files; return; fi
  local program=$(_mx_program $words)
  [ "$program" ] && compadd -S = -- $(_mx_parameters "$program" "${words[(r)-k]:+${words[$((${words[(i)-k]} + 1))]}}")
  _files
}
END
  for tool; do zsh_tool "$tool"; done
  echo '_$service "$@"' ;;
esac
