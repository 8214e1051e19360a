#!/usr/bin/env bash
# What a request costs the engine and the prototypes of other designs, on the same server, alternating.
#
#   loadgen/benches/designs.sh [ROUNDS [SECONDS]]      (5 rounds of 2 seconds)
#
# The null server runs on CPU $SERVER_CPU (0), one client thread at a time on CPU $CLIENT_CPU (1). CPU
# time is that of the whole client process, by the shell's `time`, divided by the requests it completed.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} seconds=${2:-2}
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-1}
TIMEFORMAT='%U %S'

bench() { # path of the bench NAME
  cargo bench --quiet -p loadgen --bench "$1" --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*'"$1"'[^"]*\)".*/\1/p'
}
cargo build --release --quiet -p loadgen --bins
canned=$(bench canned)
declare -A program=([engine]=target/release/loadgen)
designs=(engine tokio uring)
for design in "${designs[@]:1}"; do program[$design]=$(bench "${design}_prototype"); done
work=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
taskset -c "$server_cpu" "$canned" "$port" & server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.05; done

# Prints "cpu_us user_us requests_per_s" of one run: measure DESIGN CONNECTIONS
measure() {
  local -a command=("${program[$1]}")
  if [[ $1 == engine ]]; then
    command+=(run -t 1 -c "$2" -d "${seconds}s" --format csv "http://127.0.0.1:$port/")
  else
    command+=("127.0.0.1:$port" "$2" "$seconds")
  fi
  { time taskset -c "$client_cpu" "${command[@]}" >"$work/out" 2>"$work/err"; } 2>"$work/time" ||
    { echo "failed: ${command[*]}" >&2; cat "$work/err" "$work/out" >&2; exit 1; }
  local requests
  if [[ $1 == engine ]]; then
    requests=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "requests.completed") at = i } NR == 2 { print $at }' "$work/out")
  else
    requests=$(awk '{ print $1 }' "$work/out")
  fi
  [[ ${requests:-0} != 0 ]] || { echo "no request completed: ${command[*]}" >&2; cat "$work/out" >&2; exit 1; }
  awk -v n="$requests" -v s="$seconds" '{ printf "%.3f %.3f %.0f\n", ($1 + $2) * 1e6 / n, $1 * 1e6 / n, n / s }' "$work/time"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

printf '%5s  %-7s %10s %10s %12s\n' conns design 'CPU µs' 'user µs' requests/s
for connections in 50 300; do
  for design in "${designs[@]}"; do : >"$work/$design"; done
  for _ in $(seq "$rounds"); do
    for design in "${designs[@]}"; do measure "$design" "$connections" >>"$work/$design"; done
  done
  for design in "${designs[@]}"; do
    printf '%5d  %-7s %10.2f %10.2f %12.0f\n' "$connections" "$design" \
      "$(cut -d' ' -f1 "$work/$design" | median)" "$(cut -d' ' -f2 "$work/$design" | median)" \
      "$(cut -d' ' -f3 "$work/$design" | median)"
  done
done
