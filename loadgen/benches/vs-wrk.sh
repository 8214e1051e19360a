#!/usr/bin/env bash
# What a request costs the client: loadgen against wrk, on the same server, alternating.
#
#   loadgen/benches/vs-wrk.sh [ROUNDS [SECONDS]]      (5 rounds of 2 seconds)
#
# The server runs on CPU $SERVER_CPU (0), one generator thread at a time on CPU $CLIENT_CPU (1).
# HTTP goes to a null server that answers 77 canned bytes, HTTPS to server-https. CPU time is that
# of the whole client process, by the shell's `time`, divided by the requests it completed; the
# ratio is that of the medians. With strace, system calls per request are counted as well.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} seconds=${2:-2}
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-1}
TIMEFORMAT='%U %S'

command -v wrk >/dev/null || { echo "wrk is not installed" >&2; exit 2; }
cargo build --release --quiet -p loadgen -p server-https --bins
canned=$(cargo bench --quiet -p loadgen --bench canned --no-run --message-format json |
  sed -n 's/.*"executable":"\([^"]*canned[^"]*\)".*/\1/p')
loadgen=${LOADGEN:-target/release/loadgen}
work=$(mktemp -d)
servers=()
finish() { ((${#servers[@]})) && kill "${servers[@]}" 2>/dev/null; rm -rf "$work"; }
trap finish EXIT

free_port() { # asked of the kernel, by a listener that is closed again
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
await_port() {
  for _ in $(seq 100); do (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return; sleep 0.05; done
  echo "no server on port $1" >&2; exit 1
}
http_port=$(free_port) https_port=$(free_port)
taskset -c "$server_cpu" "$canned" "$http_port" & servers+=($!)
taskset -c "$server_cpu" target/release/server-https --port "$https_port" --workers 1 >/dev/null 2>&1 &
servers+=($!)
await_port "$http_port"; await_port "$https_port"

# Prints "cpu_us user_us requests_per_s" of one run: measure TOOL CONNECTIONS URL
measure() {
  local tool=$1 connections=$2 url=$3
  local -a command
  if [[ $tool == wrk ]]; then
    command=(wrk -t1 -c"$connections" -d"${seconds}s" "$url")
  else
    command=("$loadgen" run -k -t 1 -c "$connections" -d "${seconds}s" --format json "$url")
    [[ $url == https:* ]] || command=("${command[@]/-k/}")
  fi
  local -a words=()
  for word in "${command[@]}"; do [[ -n $word ]] && words+=("$word"); done
  { time taskset -c "$client_cpu" "${words[@]}" >"$work/out" 2>"$work/err"; } 2>"$work/time" ||
    { echo "failed: ${words[*]}" >&2; cat "$work/err" "$work/out" >&2; exit 1; }
  local requests
  if [[ $tool == wrk ]]; then
    requests=$(awk '/requests in/ { print $1 }' "$work/out")
  else
    requests=$(tr ',{' '\n\n' <"$work/out" | awk -F: '/"completed"/ { gsub(/[^0-9]/, "", $2); print $2; exit }')
  fi
  [[ ${requests:-0} != 0 ]] || { echo "no request completed: ${words[*]}" >&2; cat "$work/out" >&2; exit 1; }
  awk -v n="$requests" -v s="$seconds" '{ printf "%.3f %.3f %.0f\n", ($1 + $2) * 1e6 / n, $1 * 1e6 / n, n / s }' "$work/time"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

printf '%-7s %5s  %-8s %10s %10s %12s\n' scheme conns tool 'CPU µs' 'user µs' requests/s
compare() { # compare SCHEME CONNECTIONS URL
  : >"$work/wrk"; : >"$work/loadgen"
  for _ in $(seq "$rounds"); do
    for tool in wrk loadgen; do measure "$tool" "$2" "$3" >>"$work/$tool"; done
  done
  for tool in wrk loadgen; do
    printf '%-7s %5d  %-8s %10.2f %10.2f %12.0f\n' "$1" "$2" "$tool" \
      "$(cut -d' ' -f1 "$work/$tool" | median)" "$(cut -d' ' -f2 "$work/$tool" | median)" \
      "$(cut -d' ' -f3 "$work/$tool" | median)"
  done
  awk -v a="$(cut -d' ' -f1 "$work/loadgen" | median)" -v b="$(cut -d' ' -f1 "$work/wrk" | median)" \
    'BEGIN { printf "               loadgen / wrk = %.3f\n", a / b }'
}
compare http 50 "http://127.0.0.1:$http_port/"
compare http 300 "http://127.0.0.1:$http_port/"
compare https 50 "https://127.0.0.1:$https_port/"

if command -v strace >/dev/null; then
  taskset -c "$client_cpu" strace -f -c -o "$work/strace" \
    "$loadgen" run -t 1 -c 50 -n 20000 --format json "http://127.0.0.1:$http_port/" >/dev/null 2>&1
  awk '$NF ~ /^(sendto|recvfrom|read|write|epoll_wait|epoll_pwait|epoll_pwait2|epoll_ctl)$/ { n += $4 }
    END { printf "system calls per request at 50 connections (under strace): %.2f\n", n / 20000 }' "$work/strace"
fi
