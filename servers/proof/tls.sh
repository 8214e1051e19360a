# Sourced by real-tools.sh: what the TLS of the servers accepts and refuses.

openssl_checks() {
    need openssl openssl || return
    check "openssl: TLS 1.3" has "$(handshake -tls1_3)" 'New, TLSv1.3, Cipher is TLS_'
    check "openssl: TLS 1.2" has "$(handshake -tls1_2)" 'New, TLSv1.2, Cipher is ECDHE-'
    for old in -tls1_1 -tls1; do
        check "openssl: no ${old#-}" refuses "$old" -cipher 'ALL:@SECLEVEL=0'
    done
    check "openssl: no cipher without forward secrecy" refuses -tls1_2 -cipher 'AES128-GCM-SHA256:AES256-SHA'
    check "openssl: no CBC" refuses -tls1_2 -cipher 'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384'
    check "openssl: ALPN http/1.1" has "$(handshake -alpn h2,http/1.1)" 'ALPN protocol: http/1.1'
    check "openssl: no ALPN h2" refuses -alpn h2
    check "openssl: the certificate is P-256" has "$(handshake)" 'Server public key is 256 bit'
    check "openssl: the certificate is for localhost" \
        has "$(handshake -CAfile certs/cert.pem -verify_hostname localhost -verify_return_error)" 'Verify return code: 0 '
    check "openssl: a request by hand" has "$(by_hand)" '^Hello world!'
}

# handshake [ARGUMENT...]: what s_client says of a handshake with the https server.
handshake() {
    timeout 20 openssl s_client -connect "127.0.0.1:$https_port" -servername localhost "$@" </dev/null 2>&1
}

refuses() {
    local said
    said=$(handshake "$@") && { echo "$said"; return 1; }
    has "$said" 'alert|no protocols available|handshake failure'
}

by_hand() {
    { printf 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'; sleep 1; } |
        timeout 20 openssl s_client -connect "127.0.0.1:$https_port" -quiet 2>/dev/null | tr -d '\r'
}

scanner_checks() {
    if need testssl testssl.sh; then
        check "testssl.sh: no weak protocol or cipher" testssl_finds_nothing
    fi
    if need sslyze pip install sslyze; then
        check "sslyze: no weak protocol or cipher" sslyze_finds_nothing
    fi
}

# Fails on every finding that is not OK or information. What a self-signed certificate is blamed for
# (trust, revocation, age) is not asked. One finding is accepted: the server has no order of ciphers of
# its own. All it has are strong, so the client decides, which knows whether AES is quick for it: so has
# Mozilla's "modern" profile.
testssl_finds_nothing() {
    timeout 600 testssl --quiet --color 0 --warnings off --jsonfile "$scratch/testssl.json" \
        --protocols --std --fs --server-preference --vulnerable "127.0.0.1:$https_port" >"$scratch/testssl.out" 2>&1
    python3 - "$scratch/testssl.json" <<'PYTHON'
import json, sys

ACCEPTED = {"cipher_order"}
findings = json.load(open(sys.argv[1]))
offered = [each["id"] for each in findings if each["id"] in ("TLS1_2", "TLS1_3") and each["finding"].startswith("offered")]
weak = [each for each in findings if each["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL")]
refused = [each for each in weak if each["id"] not in ACCEPTED]
for each in weak:
    print(each["severity"], each["id"], each["finding"], "" if each in refused else "(accepted)")
print(len(findings), "findings;", "offered:", *offered)
sys.exit(bool(refused) or len(offered) != 2 or len(findings) < 30)
PYTHON
}

# TLS 1.2 and 1.3 and nothing older, authenticated encryption with forward secrecy alone, none of the
# known attacks.
sslyze_finds_nothing() {
    timeout 300 sslyze --json_out="$scratch/sslyze.json" --sslv2 --sslv3 --tlsv1 --tlsv1_1 --tlsv1_2 \
        --tlsv1_3 --heartbleed --openssl_ccs --robot --compression --reneg --early_data "127.0.0.1:$https_port" >"$scratch/sslyze.out" 2>&1
    python3 - "$scratch/sslyze.json" <<'PYTHON'
import json, sys

scan = json.load(open(sys.argv[1]))["server_scan_results"][0]["scan_result"]
result = {name: each["result"] for name, each in scan.items() if each["status"] == "COMPLETED"}
accepted = {
    version: [each["cipher_suite"]["name"] for each in result[f"{version}_cipher_suites"]["accepted_cipher_suites"]]
    for version in ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1", "tls_1_2", "tls_1_3")
}
strong = lambda name: name.startswith("TLS_ECDHE_") and ("_GCM_" in name or "_POLY1305_" in name)
faults = [version for version in ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1") if accepted[version]]
faults += [version for version in ("tls_1_2", "tls_1_3") if not accepted[version]]
faults += [name for name in accepted["tls_1_2"] if not strong(name)]
faults += [name for name, bad in {
    "heartbleed": result["heartbleed"]["is_vulnerable_to_heartbleed"],
    "CCS injection": result["openssl_ccs_injection"]["is_vulnerable_to_ccs_injection"],
    "ROBOT": not result["robot"]["robot_result"].startswith("NOT_VULNERABLE"),
    "compression": result["tls_compression"]["supports_compression"],
    "renegotiation": result["session_renegotiation"]["is_vulnerable_to_client_renegotiation_dos"],
    "early data": result["tls_1_3_early_data"]["supports_early_data"],
}.items() if bad]
print("faults:", *faults or ["none"])
print("accepted:", *accepted["tls_1_2"], *accepted["tls_1_3"])
sys.exit(bool(faults))
PYTHON
}
