# Sourced by real-tools.sh: slow clients do not slow the others, and are gone after the timeouts.
#
# slowhttptest holds 500 connections in each of its ways, while wrk asks the same server on ten. Its
# rate, and the server's CPU time per request, are compared with those before and after, and printed.
# The requirement is a rate of at least 0.90. A busy machine moves rates by more than that, so what
# fails is half the rate, or a third more CPU time per request.

slow_connections=500
# The timeouts of the servers are 10 s, those of a rate 5 s (docs/servers.md), kept to within half a
# second; the rest is for slowhttptest to open its connections.
gone_within_s=15

slow_checks() {
    need slowhttptest slowhttptest && need wrk wrk || return
    mkdir "$scratch/data"
    head -c 8000000 /dev/urandom >"$scratch/data/large.bin"
    cp data/logo.png "$scratch/data"
    slow_check "slow headers" hello / / -H -i 5 -x 24 -p 3
    slow_check "slow bodies" upload /stats / -B -i 5 -s 8192 -x 10 -p 3
    slow_check "slow reading" png /logo.png /large.bin -X -w 1 -y 10 -n 5 -z 1 -p 3
}

# slow_check WHAT SERVER ORDINARY-PATH ATTACKED-PATH SLOWHTTPTEST-ARGUMENT...
slow_check() {
    local what=$1 server=$2 ordinary=$3 attacked=$4 resting before during after attack gone
    shift 4
    start "$server" --data-dir "$scratch/data"
    resting=$(descriptors)
    before=$(rate "$url$ordinary")
    slowhttptest "$@" -c $slow_connections -r $slow_connections -l 60 -u "$url$attacked" \
        >"$scratch/slowhttptest.out" 2>&1 &
    attack=$!
    pids+=("$attack")
    check "$what: $slow_connections connections are there" await "[ \$(descriptors) -ge $((resting + slow_connections)) ]" 5
    gone=$SECONDS
    during=$(rate "$url$ordinary")
    check "$what: they are gone after the timeout" await "[ \$(descriptors) -le $resting ]" $gone_within_s
    gone=$((SECONDS - gone))
    wait "$attack"
    after=$(rate "$url$ordinary")
    report "$what" "$before" "$during" "$after" "$gone"
    check "$what: slowhttptest found the service available" \
        has "$(sed 's/\x1b\[[0-9;]*m//g' "$scratch/slowhttptest.out" | tr -d '\r')" 'service available: *YES'
    check "$what: status 0 at the end" stop "$pid"
}

# report WHAT BEFORE DURING AFTER SECONDS: the three are "RATE COST" of `rate`.
report() {
    local ratios
    ratios=$(awk '{ printf "%.2f %.2f", 2 * $3 / ($1 + $5), 2 * $4 / ($2 + $6) }' <<<"$2 $3 $4")
    echo "      $1, requests/s: ${2% *} before, ${3% *} during, ${4% *} after, ratio ${ratios% *}"
    echo "      $1, CPU us per request: ${2#* } before, ${3#* } during, ${4#* } after, ratio ${ratios#* }"
    echo "      $1: gone within $5 s"
    check "$1: the others are not slowed" awk "BEGIN { exit !(${ratios% *} >= 0.5 && ${ratios#* } <= 1.33) }"
}

# rate URL: requests per second of an ordinary client, and the server's CPU microseconds for each.
rate() {
    local before report
    before=$(cpu_ns)
    report=$(timeout 30 wrk -t 1 -c 10 -d 3s "$1")
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
