/** Checks the signature of a pasted delivery and explains the result. Sends nothing. */
import { verifyWebhook, WebhookVerificationError } from '@orgdir/client';

export type PastedDelivery = {
  /** One per line, as `name: value`. */
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
      title: 'The signature is valid, and the delivery is fresh',
      explanation: `It was signed ${ageOf(delivery, now)} ago with this secret, over exactly this body.`,
    };
  return describeFault(fault, delivery, now);
}

/** Skips lines that are not headers, such as the first line of a request. */
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

async function describeFault(fault: Fault, delivery: Delivery, now: Date): Promise<SignatureCheck> {
  if (fault instanceof TypeError) return noSecret;
  switch (fault.reason) {
    case 'missing_header':
      return refused(
        `The header ${fault.header} is missing`,
        'Paste it too. If your program did not get it, a proxy in front of it may have removed it.',
      );
    case 'malformed_header':
      return refused(
        `The header ${fault.header} is malformed`,
        `${fault.message} Copy the whole value once, with nothing before or after it.`,
      );
    case 'too_old':
    case 'too_new':
      return describeAge(fault, delivery, now);
    case 'malformed_body':
      return refused(
        'The signature is valid, but the body is not a delivery',
        'It was signed with this secret, but not by this service.',
      );
    case 'body_too_large':
      return refused('The body is too large', fault.message);
    case 'no_match':
  }
  return describeMismatch(delivery);
}

async function describeAge(
  { reason }: WebhookVerificationError,
  delivery: Delivery,
  now: Date,
): Promise<SignatureCheck> {
  const fault = await verify(delivery, 'any');
  if (fault !== null) return describeFault(fault, delivery, now);
  if (reason === 'too_new')
    return {
      verdict: 'signed but not fresh',
      title: 'The signature is valid, but from the future',
      explanation: `The clock of this machine is ${ageOf(delivery, now)} behind that of the service. Receivers allow 5 minutes.`,
    };
  return {
    verdict: 'signed but not fresh',
    title: 'The signature is valid, but too old',
    explanation: `It was signed ${ageOf(delivery, now)} ago, with this secret, over exactly this body. Receivers refuse deliveries older than 5 minutes to prevent replay attacks. If it was fresh when it came, correct the clock of your server.`,
  };
}

/** 32 bytes in base64. */
const secretForm = /^(whsec_)?[A-Za-z0-9+/]{43}=$/;
const noSecret = refused(
  'This is not a webhook secret',
  'A secret starts with whsec_, followed by 44 characters.',
);

async function describeMismatch(delivery: Delivery): Promise<SignatureCheck> {
  if (!secretForm.test(delivery.secret)) return noSecret;
  for (const { body, explanation } of repairedBodies(delivery.body))
    if (body !== delivery.body && (await verify({ ...delivery, body }, 'any')) === null)
      return refused('The body was changed', `${explanation} ${bytesAsTheyCame}`);
  const visible = visibleChange(delivery);
  if (visible !== null) return refused('The body was changed', `${visible} ${bytesAsTheyCame}`);
  if (await signsBodyAlone(delivery))
    return refused(
      'Another header was changed',
      'The secret and the body are right, as the signature of the body alone shows. webhook-id, webhook-timestamp or webhook-signature was changed.',
    );
  return refused(
    'Most likely the wrong secret',
    'The body looks right, but no signature of it was made with this secret. Use the secret of this webhook, the newest one if it was replaced. If the secret is right, the body or the webhook-id header differs from what was sent.',
  );
}

const bytesAsTheyCame = 'Check the signature over the raw bytes, before anything parses them.';

/** Undoes the most common changes that programs make to a body. */
function repairedBodies(body: string): { body: string; explanation: string }[] {
  return [
    {
      body: body.trim(),
      explanation: 'It has extra spaces or line breaks before or after it.',
    },
    {
      body: serialiseAgain(body) ?? body,
      explanation: 'It was parsed and serialised again, with different spaces or escapes.',
    },
  ];
}

function serialiseAgain(body: string): string | null {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return null;
  }
}

/** Finds changes that are visible without the secret. */
function visibleChange({ headers, body }: Delivery): string | null {
  const bytes = new TextEncoder().encode(body).length;
  const length = headers['content-length']?.[0];
  if (length !== undefined && Number(length) !== bytes)
    return `It has ${bytes.toLocaleString()} bytes, and content-length says ${Number(length).toLocaleString()}.`;
  if (serialiseAgain(body) === null) return 'It is not JSON, as every delivery is.';
  const [, id] = /^\{"id":"([^"]*)","event":"[^"]*","createdAt":"[^"]*","data":/.exec(body) ?? [];
  if (id === undefined)
    return 'It does not start like a delivery: {"id":…,"event":…,"createdAt":…,"data":….';
  if (id !== headers['webhook-id']?.[0])
    return 'Its id differs from the webhook-id header: they belong to different deliveries.';
  return null;
}

/** Checks the `X-<service>-Signature` header, which signs the body alone, as GitHub does. */
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
