/** Verifies both signatures of a delivery with the verifier that integrators use. */
import { verifyWebhook, WebhookVerificationError } from '@orgdir/client';

export type Verdict = { verified: true } | { verified: false; reason: string };
export type Verification = { standard: Verdict; service: Verdict };
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** `body` holds the bytes as received. One matching secret is enough. */
export async function verifyDelivery(
  body: Uint8Array,
  headers: Headers,
  secrets: readonly string[],
): Promise<Verification> {
  const signatureHeader = findSignatureHeader(headers);
  const content = { body, headers, secret: secrets };
  const [standard, service] = await Promise.all([
    runVerifier(() => verifyWebhook(content)),
    runVerifier(() => verifyWebhook({ ...content, scheme: 'service', signatureHeader })),
  ]);
  return { standard, service };
}

/** `SERVICE_NAME` may rename the header, but its end stays the same. */
function findSignatureHeader(headers: Headers): string {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return names.find((name) => /^x-[a-z0-9]+-signature$/.test(name)) ?? 'x-service-signature';
}

async function runVerifier(verify: () => Promise<unknown>): Promise<Verdict> {
  try {
    await verify();
    return { verified: true };
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return { verified: false, reason: error.message };
  }
}
