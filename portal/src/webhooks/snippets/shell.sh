#!/bin/sh
# A CGI program: the server gives headers as HTTP_…, the body as input. WEBHOOK_SECRET: whsec_…
set -euf

answer() {
  printf 'Status: %s\r\n\r\n' "$1"
  exit 0
}

id=${HTTP_WEBHOOK_ID:-}
timestamp=${HTTP_WEBHOOK_TIMESTAMP:-}

# Fresh: signed five minutes ago at most, by a clock that may be wrong either way.
case $timestamp in [!1-9]* | *[!0-9]* | '' | ????????????*) answer '401 Unauthorized' ;; esac
age=$(($(date +%s) - timestamp))
if [ "$age" -gt 300 ] || [ "$age" -lt -300 ]; then answer '401 Unauthorized'; fi

# The bytes as they came: a variable of the shell would lose some.
[ "${CONTENT_LENGTH:-0}" -le 1048576 ] || answer '413 Content Too Large'
body=$(mktemp)
trap 'rm -f "$body"' EXIT
head -c "${CONTENT_LENGTH:-0}" >"$body"

# While it runs, others on the same machine may see the arguments of openssl.
key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
[ -n "$key" ] || answer '500 Internal Server Error'
expected=$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
[ -n "$expected" ] || answer '500 Internal Server Error'

# Compared under a key that nobody knows, so that the time it takes tells nothing.
blind=$(openssl rand -hex 32)
blinded() { printf %s "$1" | openssl dgst -sha256 -hmac "$blind"; }
wanted=$(blinded "v1,$expected")

# While a secret is being replaced there are two signatures, with a space between.
for signature in ${HTTP_WEBHOOK_SIGNATURE:-}; do
  if [ "$(blinded "$signature")" = "$wanted" ]; then
    # Store it here and answer; work on it afterwards. The id is the same if it comes again.
    printf '%s %s\n' "$id" "$(head -c 200 "$body" | tr -d '[:cntrl:]')" >&2
    answer '204 No Content'
  fi
done
answer '401 Unauthorized'
