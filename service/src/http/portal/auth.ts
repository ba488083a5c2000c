/**
 * Hands requests below `/portal/api/auth` to better-auth and brings its answers back: those that this service has a use
 * for, and no others. What could be tried often, or sends mail, is counted here, by account and by address.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { addressBucket } from '../admit.ts';
import { createRequestCounter, secondsUntil } from '../request-counter.ts';
import { readSession } from './authenticate.ts';
import { openConfig } from './route.ts';

type Kind = 'guess' | 'mail' | 'other';

const changePassword = '/change-password';
/** What can be asked for, how, and whether it is a guess at a secret or makes us send mail. */
const operations: ['GET' | 'POST', string, Kind][] = [
  ['POST', '/sign-up/email', 'mail'],
  ['POST', '/sign-in/email', 'guess'],
  ['POST', '/sign-in/social', 'other'],
  ['GET', '/callback/:provider', 'other'],
  ['POST', '/sign-out', 'other'],
  ['GET', '/verify-email', 'guess'],
  ['POST', '/send-verification-email', 'mail'],
  ['POST', '/request-password-reset', 'mail'],
  ['GET', '/reset-password/:token', 'guess'],
  ['POST', '/reset-password', 'guess'],
  ['POST', changePassword, 'guess'],
  ['POST', '/update-user', 'other'],
  ['GET', '/list-accounts', 'other'],
  ['POST', '/link-social', 'other'],
  ['POST', '/unlink-account', 'other'],
  ['GET', '/list-sessions', 'other'],
  ['POST', '/revoke-session', 'other'],
  ['POST', '/revoke-other-sessions', 'other'],
];

/** A person mistypes a few times; a list of passwords is long. Few enough to keep somebody else out only while one tries. */
const guessesPerMinute = { account: 20, address: 60 };
/** Whoever waits for a mail asks twice; nobody's mailbox is filled. */
const mailsPerHour = { account: 5, address: 30 };
const hourMs = 3_600_000;

export function registerAuth(
  portal: FastifyInstance,
  { signIn, publicUrl }: { signIn: SignIn; publicUrl: string },
): void {
  const limit = createLimits();
  for (const [method, path, kind] of operations) {
    portal.route({
      method,
      url: `/auth${path}`,
      // A HEAD would be a guess, or use up a link, and answer nothing.
      exposeHeadRoute: false,
      config: openConfig,
      schema: { hide: true },
      handler: async (request, reply) => {
        // Whose password is guessed at says the session there, whatever the body says.
        const account =
          path === changePassword
            ? await readAccount(signIn, request, reply)
            : accountOf(request.body);
        limit(kind, request, account);
        const answer = await signIn.handle(toRequest(request, publicUrl));
        return sendAnswer(reply, answer);
      },
    });
  }
}

/** Throws `rate_limited`. */
export function createLimits(): (
  kind: Kind,
  request: FastifyRequest,
  email?: string | null,
) => void {
  const counters = {
    guess: {
      account: createRequestCounter(guessesPerMinute.account),
      address: createRequestCounter(guessesPerMinute.address),
    },
    mail: {
      account: createRequestCounter(mailsPerHour.account, hourMs),
      address: createRequestCounter(mailsPerHour.address, hourMs),
    },
  };
  return (kind, request, email = accountOf(request.body)) => {
    if (kind === 'other') return;
    const { account, address } = counters[kind];
    // The address first: what it has used up, it takes from nobody's account.
    const usages = [address(addressBucket(request.ip)), ...(email ? [account(email)] : [])];
    const exceeded = usages.find((usage) => usage.exceeded);
    if (!exceeded) return;
    throw new ServiceError('rate_limited', 'Too many attempts; try again later.', {
      headers: { 'retry-after': String(secondsUntil(exceeded.resetAt)) },
    });
  };
}

/** Of whom the session is; counted together with guesses at signing in to the same account. */
async function readAccount(
  signIn: SignIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string | null> {
  const signedIn = await readSession(signIn, request, reply);
  return accountOf(signedIn);
}

/** 254: longer is no address, and would only fill the memory. */
function accountOf(named: unknown): string | null {
  const { email } = (named ?? {}) as { email?: unknown };
  return typeof email === 'string' ? email.trim().toLowerCase().slice(0, 254) : null;
}

/** Those that decide something there; what a proxy, or a caller, adds decides nothing. */
const passedOn = ['cookie', 'origin', 'user-agent', 'accept', 'accept-language', 'referer'];

function toRequest(request: FastifyRequest, publicUrl: string): Request {
  const headers = new Headers({ 'x-orgdir-address': request.ip });
  for (const name of passedOn) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  const { method, body } = request;
  // As the portal's pages see it, whatever proxy is between.
  const url = `${publicUrl}${request.url}`;
  if (method !== 'POST') return new Request(url, { headers });
  headers.set('content-type', 'application/json');
  return new Request(url, { method, headers, body: JSON.stringify(body ?? {}) });
}

async function sendAnswer(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  // A failure of ours is told in our words.
  if (answer.status === 500) throw new ServiceError('internal_error');
  const location = answer.headers.get('location');
  if (location !== null) reply.header('location', location);
  for (const cookie of answer.headers.getSetCookie()) reply.header('set-cookie', cookie);
  reply.code(answer.status);
  const text = await answer.text();
  if (text === '') return reply.send();
  return reply.type(answer.headers.get('content-type') ?? 'application/json').send(text);
}
