#!/usr/bin/env bash
# Do several load generators see the same server? Requests/s and p50 of loadgen, wrk, oha and
# h2load, on the same server, alternating: at a rate all can hold, and at full speed.
#
#   loadgen/benches/cross-check.sh [ROUNDS [SECONDS [RATE]]]      (3 rounds of 5 seconds, 2000/s)
#
# Tools that are not installed are left out. wrk has no rate and is left out there. The server is
# server-hello with one worker on CPU $SERVER_CPU (0), the generator runs on CPU $CLIENT_CPU (1).
# With WRITE=1 the table also replaces the one in docs/method.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3} seconds=${2:-5} rate=${3:-2000} connections=20
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-1}

cargo build --release --quiet -p loadgen -p server-hello --bins
loadgen=target/release/loadgen
work=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url="http://127.0.0.1:$port/"
taskset -c "$server_cpu" target/release/server-hello --port "$port" --workers 1 >/dev/null 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.05; done

# Milliseconds, microseconds or seconds with their unit, as microseconds.
to_us() { awk '{ v = $1 + 0; if ($1 ~ /us$|µs$/) u = 1; else if ($1 ~ /ms$/) u = 1000; else u = 1e6; printf "%.0f", v * u }'; }
tools=()
for tool in "$loadgen" wrk oha h2load; do command -v "$tool" >/dev/null && tools+=("${tool##*/}"); done

# Prints "requests_per_s p50_us": one TOOL [RATE]
one() {
  local tool=$1 at=${2:-} pin=(taskset -c "$client_cpu") out=$work/out
  case $tool in
  loadgen)
    "${pin[@]}" "$loadgen" run -t 1 -c $connections -d "${seconds}s" ${at:+--rate "$at"} --format json "$url" >"$out"
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(round(r["rate_per_s"]), round(r["service_time_us"]["p50"]))' "$out" ;;
  wrk)
    "${pin[@]}" wrk -t 1 -c $connections -d "${seconds}s" --latency "$url" >"$out"
    echo "$(awk '/Requests\/sec/ { printf "%.0f", $2 }' "$out") $(awk '$1 == "50%" { print $2 }' "$out" | to_us)" ;;
  oha)
    "${pin[@]}" oha --no-tui -c $connections -z "${seconds}s" ${at:+-q "$at"} "$url" >"$out"
    echo "$(awk '/Requests\/sec/ { printf "%.0f", $2 }' "$out") $(awk '/^ *50(\.00)?%/ { print $3 $4 }' "$out" | to_us)" ;;
  h2load)
    local per_client=${at:+$((at / connections))}
    # h2load prints no percentiles; its log has start, status and microseconds of each request.
    "${pin[@]}" h2load --h1 -t 1 -c $connections -D "$seconds" ${per_client:+--rps "$per_client"} --log-file="$work/log" "$url" >"$out"
    echo "$(awk '/^finished in/ { gsub(",", ""); printf "%.0f", $4 }' "$out") $(awk '{ print $3 }' "$work/log" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')"
    rm -f "$work/log" ;;
  esac
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

table() { # table TITLE [RATE]
  for _ in $(seq "$rounds"); do
    for tool in "${tools[@]}"; do
      [[ $tool == wrk && -n ${2:-} ]] || one "$tool" "${2:-}" >>"$work/$tool.$1"
    done
  done
  for tool in "${tools[@]}"; do
    [[ -e $work/$tool.$1 ]] || continue
    printf '| %s | %s | %s | %s |\n' "$1" "$tool" \
      "$(cut -d' ' -f1 "$work/$tool.$1" | median)" "$(cut -d' ' -f2 "$work/$tool.$1" | median)"
  done
}
{
  echo "| load | generator | requests/s | p50 µs |"
  echo "|---|---|---:|---:|"
  table "at $rate" "$rate"
  table full
} | tee "$work/table"
[[ -z ${WRITE:-} ]] || python3 - "$work/table" docs/method.md <<'EOF'
import pathlib, re, sys
table, page = map(pathlib.Path, sys.argv[1:])
marked = re.compile(r"(<!-- cross-check -->\n).*?(<!-- /cross-check -->)", re.S)
page.write_text(marked.sub(lambda marks: marks[1] + table.read_text() + marks[2], page.read_text()))
EOF
