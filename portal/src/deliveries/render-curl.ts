/**
 * Renders a shell command that repeats a delivery with the same bytes and headers, and signs it with the secret in
 * WEBHOOK_SECRET, so that receivers accept it. It needs curl, openssl and a POSIX shell.
 */
export type RepeatedRequest = {
  url: string;
  id: string;
  body: string;
  /** Such as `X-Service-Signature`. */
  signatureHeader: string;
  /** The headers that do not depend on the secret. */
  headers: Record<string, string>;
};

export function renderCurl({ url, id, body, signatureHeader, headers }: RepeatedRequest): string {
  const options = [
    // Brackets in the address are not a pattern, and curl sends a long body without waiting for 100 Continue.
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

/** A shell leaves single-quoted text as it is. A single quote itself has to be outside. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
