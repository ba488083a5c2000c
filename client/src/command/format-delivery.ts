/** Formats a received delivery for a terminal or as one line of JSON. */
import { escapeControls, escapeLines } from './escape-controls.ts';
import type { ReceivedDelivery } from './receive-deliveries.ts';
import { verifyWebhook } from '../verify-webhook.ts';
import { WebhookVerificationError } from '../webhook-verification-error.ts';
import { indentJson } from './indent-json.ts';

export type DeliveryReport = {
  type: 'delivery';
  receivedAt: string;
  id: string | null;
  event: string | null;
  /** Whether both signatures are genuine; null if no secret was given. */
  verified: boolean | null;
  signatures: Verification | null;
  answered: number;
  /** The request body, as text. */
  body: string;
};

/** A longer body is cut: it would not help on a terminal. */
const charactersMax = 64 * 1024;

export function describeDelivery(
  { headers, body }: ReceivedDelivery,
  signatures: Verification | null,
  answered: number,
): DeliveryReport {
  return {
    type: 'delivery',
    receivedAt: new Date().toISOString(),
    id: first(headers, /^webhook-id$/),
    event: first(headers, /^x-[a-z0-9]+-event$/),
    verified: signatures && signatures.standard.verified && signatures.service.verified,
    signatures,
    answered,
    body: body.toString('utf8'),
  };
}

export function formatDelivery(delivery: DeliveryReport): string {
  const { receivedAt, event, id, answered, body } = delivery;
  const head = `${receivedAt}  ${event ?? 'no event'}  ${id ?? 'no id'}  ${verdictOf(delivery)}`;
  const text = indentJson(body);
  const rest = text.length - charactersMax;
  const shown = rest > 0 ? `${text.slice(0, charactersMax)}\n… and ${rest} more characters` : text;
  return `${escapeControls(head)}, answered ${answered}\n${indent(escapeLines(shown))}\n`;
}

function verdictOf({ signatures, verified }: DeliveryReport): string {
  if (signatures === null) return 'not verified: no secret was given';
  if (verified) return 'verified';
  const faults = [
    faultOf('X-…-Signature', signatures.service),
    faultOf('Standard Webhooks', signatures.standard),
  ];
  return `NOT VERIFIED (${faults.filter((fault) => fault !== null).join(' ')})`;
}

function faultOf(scheme: string, verdict: Verdict): string | null {
  return verdict.verified ? null : `${scheme}: ${verdict.reason}`;
}

function first(headers: ReceivedDelivery['headers'], name: RegExp): string | null {
  const found = Object.entries(headers).find(([key]) => name.test(key))?.[1];
  return found?.[0] ?? null;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

type Verdict = { verified: true } | { verified: false; reason: string };
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
