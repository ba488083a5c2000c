/**
 * Who is signed in to the portal, and how somebody comes to be. All of it is better-auth's work, over our tables
 * (`auth.ts`); it is loaded when somebody first comes with a session or to sign in, because it is a good part of the
 * memory of a service at rest. What somebody may do with their apps is decided in `access/`.
 */
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { isConnectionFault, unavailable } from '../database/database.ts';
import type { Logger } from '../log.ts';
import type { Mailer } from '../mail.ts';
import type { Auth } from './auth.ts';
import { deriveSecret } from './derive-secret.ts';
import { createFirstAccount, type FirstAccount, type NewAccount } from './first-account.ts';
import { createLinkSender } from './send-link.ts';

export type SignInDependencies = Pick<Config, 'publicUrl' | 'serviceName' | 'signIn'> & {
  database: Database;
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
  /** Null: links are printed on the terminal, or nobody can sign up (`config.signIn.printLinks`). */
  mailer: Mailer | null;
  print: (line: string) => void;
  log: Logger;
};

export type SignedIn = {
  sessionId: string;
  userId: string;
  name: string;
  /** An address, or what a provider calls somebody whose address it does not vouch for (`provider-identity.ts`). */
  email: string;
  /** Whether it is proven that this somebody is who `email` says. */
  verified: boolean;
  image: string | null;
  expiresAt: Date;
};

export type SignIn = {
  /** Answers a request below `/portal/api/auth`. The caller has checked where it comes from, and how often. */
  handle(request: Request): Promise<Response>;
  /** Who sends these cookies, or null; and the cookies to send back, where the session is prolonged or has ended. */
  read(headers: Headers): Promise<{ signedIn: SignedIn | null; cookies: string[] }>;
  /** Where the links go that somebody signs up with, or gets a lost password back. Null: there are none. */
  links: 'mail' | 'terminal' | null;
  providers: { id: string; name: string }[];
  /** A link that makes the first account, while there is none; else null. */
  offerFirstAccount(): Promise<string | null>;
  createFirstAccount(input: NewAccount): Promise<FirstAccount>;
};

/** As `auth.ts` has it called; others of the same host mean nothing here. */
const sessionCookie = /(?:^|;\s*)(?:__Host-)?orgdir\.session_token=/;

export function createSignIn(dependencies: SignInDependencies): SignIn {
  const { database, publicUrl, signIn, mailer } = dependencies;
  const links = mailer ? 'mail' : signIn.printLinks ? 'terminal' : null;
  const firstAccount = createFirstAccount(database, publicUrl);
  let loading: Promise<Auth> | undefined;

  function load(): Promise<Auth> {
    loading ??= import('./auth.ts').then(({ createAuth }) =>
      createAuth({
        ...dependencies,
        canMail: links !== null,
        secret: deriveSecret(dependencies.secretKeys),
        sendLink: createLinkSender(dependencies),
      }),
    );
    return loading;
  }

  return {
    links,
    providers: providersOf(signIn),
    offerFirstAccount: () => firstAccount.offer(),
    async createFirstAccount(input) {
      const auth = await load();
      return firstAccount.create(auth, input);
    },
    async handle(request) {
      const auth = await load();
      return auth.handler(request).catch((error: unknown) => {
        throw isConnectionFault(error) ? error : withoutWords(error);
      });
    },
    async read(headers) {
      // Without this cookie nobody is signed in, and nothing has to be loaded or read to say so.
      if (!sessionCookie.test(headers.get('cookie') ?? '')) return { signedIn: null, cookies: [] };
      const auth = await load();
      const answer = await auth.api
        .getSession({ headers, returnHeaders: true })
        .catch((error: unknown) => {
          // The one thing that can go wrong with a cookie, whatever is in it, is the database.
          throw unavailable(error);
        });
      return { signedIn: toSignedIn(answer.response), cookies: answer.headers.getSetCookie() };
    },
  };
}

function providersOf({ github, discord, oidc }: Config['signIn']): SignIn['providers'] {
  return [
    ...(github ? [{ id: 'github', name: 'GitHub' }] : []),
    ...(discord ? [{ id: 'discord', name: 'Discord' }] : []),
    ...(oidc ? [{ id: 'oidc', name: oidc.name }] : []),
  ];
}

/** Where it failed and how, but not its words: those of a database hold what was to be written, such as an address. */
function withoutWords(error: unknown): Error {
  const { name, code, stack = '' } = error as { name?: string; code?: string; stack?: string };
  const failure = new Error(`sign-in failed: ${[name, code].filter(Boolean).join(' ')}`);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  failure.stack = [failure.message, ...frames].join('\n');
  return failure;
}

type Found = Awaited<ReturnType<Auth['api']['getSession']>>;

function toSignedIn(found: Found): SignedIn | null {
  if (!found) return null;
  const { user, session } = found;
  return {
    sessionId: session.id,
    userId: user.id,
    name: user.name,
    email: user.email,
    verified: user.emailVerified,
    image: user.image ?? null,
    expiresAt: session.expiresAt,
  };
}
