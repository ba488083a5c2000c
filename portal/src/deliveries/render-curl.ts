/**
 * A command for a shell that repeats a delivery: the same bytes and headers, signed anew with the secret in
 * WEBHOOK_SECRET, so that a receiver that verifies accepts it. Pure. It needs curl and openssl, and any POSIX shell.
 */
export type RepeatedRequest = {
  url: string;
  id: string;
  body: string;
  /** Such as `X-Service-Signature`. */
  signatureHeader: string;
  /** Those that need no secret. */
  headers: Record<string, string>;
};

export function renderCurl({ url, id, body, signatureHeader, headers }: RepeatedRequest): string {
  const options = [
    // Brackets in an address are no pattern, and nothing waits for leave to send a long body.
    '--globoff',
    `-H ${quote('Expect:')}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    `-H "webhook-timestamp: $timestamp"`,
    `-H "webhook-signature: v1,$standard"`,
    `-H "${signatureHeader}: sha256=$plain"`,
  ];
  return `(
: "\${WEBHOOK_SECRET:?Set it to the secret of the webhook first}"
body=${quote(body)}
timestamp=$(date +%s)
key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
standard=$(printf %s ${quote(`${id}.`)}"$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
plain=$(printf %s "$body" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" | sed 's/^.* //')
printf %s "$body" | curl -i -X POST ${quote(url)} --data-binary @- \\
  ${options.join(' \\\n  ')}
)`;
}

/** Between single quotes a shell changes nothing; the quote itself stands outside of them. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
