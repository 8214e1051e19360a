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
    need testssl testssl.sh || return
    check "testssl.sh: no weak protocol or cipher" scan
}

# Fails on every finding that is not OK or information. Protocols, ciphers and known attacks are asked.
# What a self-signed certificate is blamed for (trust, revocation, age) is not, nor is the order of
# ciphers: all are strong, so the client's wish is followed, as Mozilla's modern profile has it.
scan() {
    timeout 600 testssl --quiet --color 0 --warnings off --jsonfile "$scratch/testssl.json" \
        --protocols --std --fs --vulnerable "127.0.0.1:$https_port" >"$scratch/testssl.out" 2>&1
    python3 - "$scratch/testssl.json" <<'PYTHON'
import json, sys

findings = json.load(open(sys.argv[1]))
offered = [each["id"] for each in findings if each["id"] in ("TLS1_2", "TLS1_3") and each["finding"].startswith("offered")]
weak = [each for each in findings if each["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL")]
for each in weak:
    print(each["severity"], each["id"], each["finding"])
print(len(findings), "findings;", "offered:", *offered)
sys.exit(bool(weak) or len(offered) != 2 or len(findings) < 30)
PYTHON
}
