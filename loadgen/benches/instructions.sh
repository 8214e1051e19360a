#!/usr/bin/env bash
# Instructions that each step of a request takes, counted by callgrind, against the committed
# counts: loadgen/benches/instructions.sh [--update]
#
# A count is the difference of two runs, so that start-up is not in it. Fails where a step takes
# over 5 % more than instructions.txt says. Counts do not depend on the machine's load.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 2; }
baseline=loadgen/benches/instructions.txt
hot=$(cargo bench --quiet -p loadgen --bench hot --no-run --message-format json |
  sed -n 's/.*"executable":"\([^"]*hot[^"]*\)".*/\1/p')

count() { # instructions of STEP done COUNT times
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$hot" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
failed=0
[[ ${1:-} == --update ]] && : >"$baseline"
for step in parse_short parse_usual parse_split parse_chunked record expand; do
  few=$(count "$step" 1000) many=$(count "$step" 11000)
  now=$(((many - few) / 10000))
  if [[ ${1:-} == --update ]]; then echo "$step $now" >>"$baseline"; fi
  before=$(awk -v step="$step" '$1 == step { print $2 }' "$baseline")
  verdict=ok
  if [[ -z $before ]]; then verdict="no count in $baseline: run with --update"; failed=1
  elif ((now * 100 > before * 105)); then verdict="over $before by more than 5 %"; failed=1
  fi
  printf '%-14s %6d  %s\n' "$step" "$now" "$verdict"
done
exit "$failed"
