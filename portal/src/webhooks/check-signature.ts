/** Why a signature is right or not, in words, from what somebody has pasted. Sends nothing. */
import { verifyWebhook, WebhookVerificationError } from '@orgdir/client';

export type PastedDelivery = {
  /** One in a line, as `name: value`. */
  headers: string;
  body: string;
  secret: string;
};
export type SignatureCheck = {
  verdict: 'genuine' | 'signed but not fresh' | 'refused';
  title: string;
  explanation: string;
};

type Delivery = { headers: Record<string, string[]>; body: string; secret: string };

export async function checkSignature(
  pasted: PastedDelivery,
  now: Date = new Date(),
): Promise<SignatureCheck> {
  const delivery = {
    headers: readHeaders(pasted.headers),
    body: pasted.body,
    secret: pasted.secret.trim(),
  };
  const fault = await verify(delivery, now);
  if (fault === null)
    return {
      verdict: 'genuine',
      title: 'The signature is right, and the delivery is fresh',
      explanation: `It was signed ${ageOf(delivery, now)} ago with this secret, over exactly this body.`,
    };
  return explain(fault, delivery, now);
}

/** What cannot be a header, such as the first line of a request, is passed over. */
function readHeaders(text: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of text.split('\n')) {
    const [, name, value] = /^\s*([\w-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) (headers[name.toLowerCase()] ??= []).push(value);
  }
  return headers;
}

type Fault = WebhookVerificationError | TypeError;

async function verify(delivery: Delivery, now: Date | 'any'): Promise<Fault | null> {
  const time = now === 'any' ? { tolerance: Number.MAX_SAFE_INTEGER } : { now };
  try {
    await verifyWebhook({ ...delivery, ...time });
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError || error instanceof TypeError) return error;
    throw error;
  }
}

async function explain(fault: Fault, delivery: Delivery, now: Date): Promise<SignatureCheck> {
  if (fault instanceof TypeError) return noSecret;
  switch (fault.reason) {
    case 'missing_header':
      return refused(
        `The header ${fault.header} is missing`,
        'Paste it too. If your program did not get it, a proxy before it may have dropped it.',
      );
    case 'malformed_header':
      return refused(
        `The header ${fault.header} is not as it was sent`,
        `${fault.message} Copy it whole, once, with nothing before or after it.`,
      );
    case 'too_old':
    case 'too_new':
      return explainAge(fault, delivery, now);
    case 'malformed_body':
      return refused(
        'The signature is right, but the body is no delivery',
        'It was signed with this secret, by something else than this service.',
      );
    case 'body_too_large':
      return refused('The body is too large', fault.message);
    case 'no_match':
  }
  return explainMismatch(delivery);
}

async function explainAge(
  { reason }: WebhookVerificationError,
  delivery: Delivery,
  now: Date,
): Promise<SignatureCheck> {
  const fault = await verify(delivery, 'any');
  if (fault !== null) return explain(fault, delivery, now);
  if (reason === 'too_new')
    return {
      verdict: 'signed but not fresh',
      title: 'The signature is right, but from the future',
      explanation: `The clock of this machine is ${ageOf(delivery, now)} behind that of the service. A receiver allows for 5 minutes.`,
    };
  return {
    verdict: 'signed but not fresh',
    title: 'The signature is right, but too old',
    explanation: `It was signed ${ageOf(delivery, now)} ago, with this secret, over exactly this body. A receiver refuses what is older than 5 minutes, because somebody might send a recorded delivery again. If it was fresh when it came, set the clock of your server.`,
  };
}

/** 32 bytes in base64. */
const secretForm = /^(whsec_)?[A-Za-z0-9+/]{43}=$/;
const noSecret = refused(
  'This is no secret of a webhook',
  'A secret begins with whsec_, and 44 characters follow. Paste it as it was shown.',
);

async function explainMismatch(delivery: Delivery): Promise<SignatureCheck> {
  if (!secretForm.test(delivery.secret)) return noSecret;
  for (const { body, explanation } of mended(delivery.body))
    if (body !== delivery.body && (await verify({ ...delivery, body }, 'any')) === null)
      return refused('The body was changed', `${explanation} ${bytesAsTheyCame}`);
  const visible = visibleChange(delivery);
  if (visible !== null) return refused('The body was changed', `${visible} ${bytesAsTheyCame}`);
  if (await signsBodyAlone(delivery))
    return refused(
      'Another header was changed',
      'Secret and body are right, as the signature of the body alone shows. webhook-id, webhook-timestamp or webhook-signature is not as it was sent.',
    );
  return refused(
    'Most likely the wrong secret',
    'The body looks as the service writes it, but no signature was made with this secret over it. Take the secret of this webhook, the newest one if it was replaced. If the secret is right, something within the body or the header webhook-id differs from what was sent.',
  );
}

const bytesAsTheyCame =
  'Check the signature over the bytes as they came, before anything reads them.';

/** What programs do to a body most often, undone. */
function mended(body: string): { body: string; explanation: string }[] {
  return [
    {
      body: body.trim(),
      explanation: 'It has spaces or line ends before or after it that were not sent.',
    },
    {
      body: rewritten(body) ?? body,
      explanation:
        'It was parsed and written again, with other spaces or other escapes than were sent.',
    },
  ];
}

function rewritten(body: string): string | null {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return null;
  }
}

/** What shows by itself, whatever the secret. */
function visibleChange({ headers, body }: Delivery): string | null {
  const bytes = new TextEncoder().encode(body).length;
  const length = headers['content-length']?.[0];
  if (length !== undefined && Number(length) !== bytes)
    return `It has ${bytes.toLocaleString()} bytes, and content-length says ${Number(length).toLocaleString()}.`;
  if (rewritten(body) === null) return 'It is not JSON, as every delivery is.';
  const [, id] = /^\{"id":"([^"]*)","event":"[^"]*","createdAt":"[^"]*","data":/.exec(body) ?? [];
  if (id === undefined)
    return 'It does not begin as the service writes it: {"id":…,"event":…,"createdAt":…,"data":….';
  if (id !== headers['webhook-id']?.[0])
    return 'It is of another delivery than the header webhook-id: their identifiers differ.';
  return null;
}

/** The header that GitHub's way of signing uses, named after the service. */
async function signsBodyAlone(delivery: Delivery): Promise<boolean> {
  const name = Object.keys(delivery.headers).find((each) => /^x-.+-signature$/.test(each));
  if (name === undefined) return false;
  try {
    await verifyWebhook({ ...delivery, scheme: 'service', signatureHeader: name });
    return true;
  } catch {
    return false;
  }
}

function ageOf({ headers }: Delivery, now: Date): string {
  const seconds = Math.abs(
    Math.round(now.getTime() / 1_000 - Number(headers['webhook-timestamp']?.[0])),
  );
  const [size, unit] = ages.find(([each]) => seconds >= 2 * each) ?? [1, 'seconds'];
  return `${Math.floor(seconds / size).toLocaleString()} ${unit}`;
}

const ages: [number, string][] = [
  [86_400, 'days'],
  [3_600, 'hours'],
  [60, 'minutes'],
];

function refused(title: string, explanation: string): SignatureCheck {
  return { verdict: 'refused', title, explanation };
}
