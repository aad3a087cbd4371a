# SPDX-License-Identifier: Apache-2.0
# Sourced by the launcher: runs one long step with a sign of life every moment, its output in a log. All to standard error.

step_group="" # the process group of the step that runs now

# step TITLE LOG COMMAND...: runs the command; on failure shows the end of its log and exits.
# STEP_WATCH: another log, of the command's own, whose last line tells more while it runs.
step() {
  local title=$1 log=$2 began=$SECONDS status=0 shown=0 watch=${STEP_WATCH:-$2}
  shift 2
  mkdir -p "$(dirname "$log")"
  # A process group of its own (job control), so that an interrupted step can be ended whole.
  set -m
  "$@" > "$log" 2>&1 < /dev/null &
  step_group=$!
  set +m
  while kill -0 "$step_group" 2> /dev/null; do
    if [[ -t 2 ]]; then
      show_line "$title" $((SECONDS - began)) "$(sign_of_life "$watch" "$log")"
    elif ((SECONDS - began >= shown + 15)); then
      shown=$((SECONDS - began))
      printf '  … %s (%d s) %s\n' "$title" "$shown" "$(sign_of_life "$watch" "$log")" >&2
    fi
    sleep 0.2
  done
  wait "$step_group" || status=$?
  step_group=""
  [[ -t 2 ]] && printf '\r\033[K' >&2
  if ((status != 0)); then step_failed "$title" "$log" "$status"; fi
  printf '  ✓ %s (%d s)\n' "$title" $((SECONDS - began)) >&2
}

show_line() { # one line, cut to the terminal's width
  local width text
  width=$(tput cols 2> /dev/null || echo 80)
  text=$(printf '  … %s %d:%02d  %s' "$1" $(($2 / 60)) $(($2 % 60)) "$3")
  printf '\r\033[K%s' "${text:0:width-1}" >&2
}

sign_of_life() { # WATCH LOG: the last line of the first that says something
  local line
  line=$(last_line "$1")
  if [[ -z $line ]]; then line=$(last_line "$2"); fi
  printf '%s' "$line"
}

last_line() { tail -c 2000 "$1" 2> /dev/null | tr '\r' '\n' | tr -cd '[:print:]\n' | sed '/^[[:space:]]*$/d' | tail -n 1 | cut -c 1-160; }

step_failed() {
  {
    printf '\n  ✗ %s failed (status %s). The last lines of its log:\n\n' "$1" "$3"
    tail -n 25 "$2" | sed 's/^/    /'
    printf '\n  The whole log: %s\n  After the cause is cured, the same command goes on where it stopped.\n' "$2"
  } >&2
  exit 1
}

end_step() { # called on the way out: nothing of an interrupted step lives on
  if [[ -n $step_group ]]; then
    [[ -t 2 ]] && printf '\r\033[K' >&2
    kill -TERM -- "-$step_group" 2> /dev/null || true
    wait "$step_group" 2> /dev/null || true
  fi
}
