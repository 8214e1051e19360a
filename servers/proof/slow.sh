# Sourced by real-tools.sh: slow clients do not slow the others, and are gone after the timeouts.
#
# slowhttptest holds 500 connections in each of its ways, while wrk asks the same server on ten: before,
# meanwhile and after, in several rounds. The server has a CPU of its own. What is judged is its CPU time per
# request of wrk: the median of the rounds' ratios must be within 10 %. The rate is printed, but falls by
# what slowhttptest takes from wrk, with which it shares the other CPU; only half of it fails.

slow_connections=500
slow_rounds=3
# The timeouts of the servers are 10 s, those of a rate 5 s (docs/servers.md), kept to within half a
# second; the rest is for slowhttptest to open its connections.
gone_within_s=15

slow_checks() {
    need slowhttptest slowhttptest && need wrk wrk || return
    local cpus
    read -r -a cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
    if [ "${#cpus[@]}" -lt 2 ]; then
        skip "slow clients: this needs two CPUs"
        return
    fi
    on_server=(taskset -c "${cpus[0]}") on_clients=(taskset -c "${cpus[1]}")
    mkdir "$scratch/data"
    head -c 8000000 /dev/urandom >"$scratch/data/large.bin"
    cp data/logo.png "$scratch/data"
    slow_check "slow headers" hello / / -H -i 5 -x 24 -p 3
    slow_check "slow bodies" upload /stats / -B -i 5 -s 8192 -x 10 -p 3
    slow_check "slow reading" png /logo.png /large.bin -X -w 1 -y 10 -n 5 -z 1 -p 3
}

# slow_check WHAT SERVER ORDINARY-PATH ATTACKED-PATH SLOWHTTPTEST-ARGUMENT...
slow_check() {
    local what=$1 server=$2 ordinary=$3 attacked=$4 round ratios
    shift 4
    started_by=("${on_server[@]}")
    start "$server" --data-dir "$scratch/data"
    : >"$scratch/ratios"
    for round in $(seq $slow_rounds); do
        attack "$what, round $round" "$url$ordinary" "$url$attacked" "$@"
    done
    ratios="$(median 1) $(median 2)"
    echo "      $what, medians: rate ${ratios% *}, CPU per request ${ratios#* }"
    check "$what: the others do not cost 10 % more" awk "BEGIN { exit !(${ratios% *} >= 0.5 && ${ratios#* } <= 1.1) }"
    check "$what: status 0 at the end" stop "$pid"
}

# attack WHAT ORDINARY-URL ATTACKED-URL SLOWHTTPTEST-ARGUMENT...: one round.
attack() {
    local what=$1 ordinary=$2 attacked=$3 resting before during after attack gone
    shift 3
    resting=$(descriptors)
    before=$(rate "$ordinary")
    "${on_clients[@]}" slowhttptest "$@" -c $slow_connections -r $slow_connections -l 60 -u "$attacked" \
        >"$scratch/slowhttptest.out" 2>&1 &
    attack=$!
    pids+=("$attack")
    check "$what: $slow_connections connections are there" await "[ \$(descriptors) -ge $((resting + slow_connections)) ]" 5
    gone=$SECONDS
    during=$(rate "$ordinary")
    check "$what: they are gone after the timeout" await "[ \$(descriptors) -le $resting ]" $gone_within_s
    gone=$((SECONDS - gone))
    wait "$attack"
    after=$(rate "$ordinary")
    awk '{ printf "%.3f %.3f\n", 2 * $3 / ($1 + $5), 2 * $4 / ($2 + $6) }' <<<"$before $during $after" >>"$scratch/ratios"
    echo "      $what: ${before% *}, ${during% *}, ${after% *} requests/s at ${before#* }, ${during#* }, ${after#* } us; gone in $gone s"
    check "$what: slowhttptest found the service available" \
        has "$(sed 's/\x1b\[[0-9;]*m//g' "$scratch/slowhttptest.out" | tr -d '\r')" 'service available: *YES'
}

# median COLUMN: of the rounds' ratios.
median() {
    cut -d ' ' -f "$1" "$scratch/ratios" | sort -n | sed -n "$(((slow_rounds + 1) / 2))p"
}

# rate URL: requests per second of an ordinary client, and the server's CPU microseconds for each.
rate() {
    local before report
    before=$(cpu_ns)
    report=$("${on_clients[@]}" timeout 30 wrk -t 1 -c 10 -d 3s "$1")
    if grep -Eq 'Socket errors|Non-2xx' <<<"$report"; then
        echo "0 1000000"
        return
    fi
    awk -v ns=$(($(cpu_ns) - before)) '/requests in/ { requests = $1 } /^Requests\/sec/ { rate = $2 }
        END { printf "%d %.2f\n", rate, ns / 1000 / requests }' <<<"$report"
}

# The CPU time of the server that was started last, all threads, in nanoseconds.
cpu_ns() {
    cat "/proc/$pid"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# How many descriptors the server that was started last has open.
descriptors() {
    ls "/proc/$pid/fd" | wc -l
}

# await CONDITION SECONDS: waits until a condition holds.
await() {
    local deadline=$((SECONDS + $2))
    until eval "$1"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "not so within $2 s: $1; $(descriptors) descriptors"; return 1; }
        sleep 0.1
    done
}
