#!/bin/sh
# SPDX-License-Identifier: MIT
# certificates.sh DIRECTORY: makes there, for tests of TLS,
#   ca.pem                  the authority that a client is told to trust
#   server.pem .key         good, for 127.0.0.1, ::1 and localhost
#   expired.pem .key        the same, a year too late
#   other-host.pem .key     good, for another host
#   self-signed.pem .key    for the right host, of nobody
#   client.pem              a client's certificate and key in one file (MLFLOW_TRACKING_CLIENT_CERT_PATH)
#   other-ca.pem            an authority that signed none of them
# 77: openssl is not installed.

set -eu

command -v openssl >/dev/null || { echo "skipped: openssl is not installed (Debian: openssl)"; exit 77; }
[ $# -eq 1 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"

here="subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"

new_key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
}

# authority NAME SUBJECT: a certificate that signs itself.
authority() {
    new_key "$1"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$2" -days 30 -out "$1.pem" \
        -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign"
}

# signed NAME SUBJECT EXTENSIONS FROM TO: signed by the authority; times as YYMMDDHHMMSSZ.
signed() {
    new_key "$1"
    printf 'basicConstraints=CA:FALSE\n%s\n' "$3" >"$1.ext"
    openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
    openssl ca -batch -config ca.cnf -in "$1.csr" -extfile "$1.ext" -startdate "$4" -enddate "$5" \
        -notext -out "$1.pem" 2>"$1.log" || { cat "$1.log" >&2; exit 1; }
    rm -f "$1.ext" "$1.csr" "$1.log"
}

at() {
    date -u -d "$1" +%y%m%d%H%M%SZ
}

authority ca "resmon test authority"
authority other-ca "resmon other authority"
cat >ca.cnf <<END
[ca]
default_ca = test
[test]
new_certs_dir = .
database = index.txt
serial = serial
certificate = ca.pem
private_key = ca.key
default_md = sha256
unique_subject = no
policy = any
[any]
commonName = supplied
END
: >index.txt
echo 01 >serial

now=$(at "-1 day")
later=$(at "+30 days")
signed server localhost "$here" "$now" "$later"
signed expired localhost "$here" "$(at "-2 years")" "$(at "-1 year")"
signed other-host other.example "subjectAltName=DNS:other.example" "$now" "$later"
signed client "resmon test client" "extendedKeyUsage=clientAuth" "$now" "$later"
cat client.key >>client.pem
new_key self-signed
openssl req -x509 -new -key self-signed.key -subj "/CN=localhost" -days 30 -addext "$here" -out self-signed.pem
rm -f ca.cnf index.txt* serial* client.key 0?.pem
