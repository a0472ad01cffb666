# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the demo shows a long command: one line a step with its time, its output in build/demo/NN.log.
# What takes longer than 2 s shows that it lives: on a terminal the line counts and carries the last line
# of the output, elsewhere such a line is printed now and then. Sourced by test/demo/run.

STEP_DIR=build/demo
STEP_NUMBER=0
STEP_TICKER=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    TTY=1 BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' OFF=$'\e[0m' ERASE=$'\r\e[K'
else
    TTY='' BOLD='' DIM='' RED='' GREEN='' OFF='' ERASE=''
fi
export TTY

heading() { printf '\n%s%s%s\n' "$BOLD" "$*" "$OFF"; }
note() { printf '    %s%s%s\n' "$DIM" "$*" "$OFF"; }

die() {
    printf '%sdemo: %s%s\n' "$RED" "$*" "$OFF" >&2
    exit 1
}

seconds_since() { # EPOCHREALTIME: prints seconds with one digit
    awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }'
}

last_line() { # LOG: the end of its last line that is not empty, printable
    local line
    line=$(tail -n 3 "$1" 2>/dev/null | tr -cd '\n -~' | sed '/^ *$/d' | tail -n 1)
    [ "${#line}" -le 64 ] || line="...${line: -61}"
    printf '%s' "${line:-at work}"
}

ticker() { # WHAT LOG BEGAN
    local -r every=$([ -n "$TTY" ] && echo 0.5 || echo 10)
    sleep 2 <&- >&- 2>&-
    while kill -0 $$ 2>/dev/null; do
        if [ -n "$TTY" ]; then
            printf '%s  %-44s %8s  %s%s%s' "$ERASE" "$1" "$(seconds_since "$3")" "$DIM" "$(last_line "$2")" "$OFF"
        else
            printf '    ... %s: %s\n' "$(seconds_since "$3")" "$(last_line "$2")"
        fi
        sleep "$every" <&- >&- 2>&-
    done
}

stop_ticker() {
    if [ -n "$STEP_TICKER" ]; then
        kill "$STEP_TICKER" 2>/dev/null || true
        wait "$STEP_TICKER" 2>/dev/null || true
        STEP_TICKER=
    fi
}

# step WHAT HINT COMMAND...: runs the command; when it fails, says what failed and where to look, and ends.
step() {
    local -r what=$1 hint=$2 began=$EPOCHREALTIME
    shift 2
    STEP_NUMBER=$((STEP_NUMBER + 1))
    local -r log=$STEP_DIR/$(printf '%02d' "$STEP_NUMBER").log
    local rc=0
    : >"$log"
    [ -z "$TTY" ] || printf '  %-44s' "$what"
    ticker "$what" "$log" "$began" &
    STEP_TICKER=$!
    "$@" >"$log" 2>&1 </dev/null || rc=$?
    stop_ticker
    if [ "$rc" = 0 ]; then
        printf '%s  %-44s %s%8s%s\n' "$ERASE" "$what" "$GREEN" "$(seconds_since "$began")" "$OFF"
        return 0
    fi
    printf '%s  %-44s %sFAILED%s after %s, exit %d\n\n' "$ERASE" "$what" "$RED" "$OFF" "$(seconds_since "$began")" "$rc"
    tail -n 20 "$log" | sed 's/^/    | /'
    printf '\nThe whole output: %s\nThe command:      %s\n%s\n' "$PWD/$log" "$*" "$hint"
    exit 1
}
