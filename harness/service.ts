/** The command `orgdir` of this or another checkout: `serve` as a process that goes on, and the others to their end. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startProcess, type Env, type StartOptions, type Started } from './start-process.ts';

export type Addresses = { address: string; internalAddress: string };
export type Service = Started & {
  /** Resolves when it is ready; rejects if it ends before. The role `worker` has no address. */
  started: Promise<Addresses>;
};
export type ServeOptions = Pick<StartOptions, 'args' | 'enter'> & { checkout?: string };

export const root = join(import.meta.dirname, '..');
/** The certificates of receivers that use TLS, and of the authority that signed them. */
export const tlsFolder = join(root, 'service/test/support/tls');

/** Allows the service to send to this machine, and to receivers that network namespaces reach (`scale/machine.ts`). */
export const loopbackAllowed = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,198.18.0.0/15',
  WEBHOOK_ALLOW_HTTP: 'true',
};

/** Short enough for a test, and long enough for a busy machine. */
const timeoutMs = 500;
const leaseMarginMs = 4_000;
export const leaseMs = timeoutMs + leaseMarginMs;

/** Settings of the service with the times of all scenarios. */
export const shortTimes = {
  ...loopbackAllowed,
  NODE_EXTRA_CA_CERTS: join(tlsFolder, 'authority.pem'),
  WEBHOOK_TIMEOUT_MS: String(timeoutMs),
  WEBHOOK_LEASE_MARGIN_MS: String(leaseMarginMs),
  WEBHOOK_RETRY_BASE_MS: '50',
  WEBHOOK_RETRY_FACTOR: '2',
  // No deactivation, so that deliveries to receivers that always fail get all six attempts.
  WEBHOOK_DEACTIVATE_AFTER: '1000000',
};

/** Does not wait until it is ready. */
export function startService(
  env: Env,
  { checkout = root, args = [], enter }: ServeOptions = {},
): Service {
  const service = startProcess(commandOf(checkout), {
    ...withOwnNode(checkout),
    args: ['serve', ...args],
    env: { PORT: '0', INTERNAL_PORT: '0', ...env },
    ...(enter && { enter }),
  });
  const started = service
    .printed(/(?:^Serving at (\S+)[^]*?)?^Metrics: +(\S+)\/metrics/m)
    .then(([, address = '', internalAddress = '']) => ({ address, internalAddress }));
  // Some are killed before they are ready, and nobody awaits them.
  started.catch(() => {});
  return { ...service, started };
}

/** Starts a process of the API alone on these databases. */
export function startApi(databases: Env, cleanUps: AsyncDisposableStack): Service {
  const api = startService({
    ...shortTimes,
    ROLES: 'api',
    RATE_LIMIT_PER_MINUTE: '0',
    SECRET_KEY: randomBytes(32).toString('base64'),
    ...databases,
  });
  cleanUps.defer(() => api.kill());
  return api;
}

/** Runs a command and returns its JSON. */
export async function orgdir<T>(args: string[], env: Env, checkout = root): Promise<T> {
  const options = { ...withOwnNode(checkout), args: [...args, '--json'], env };
  const command = startProcess(commandOf(checkout), options);
  const { code } = await command.ended;
  if (code !== 0) throw new Error(`orgdir ${args.join(' ')}: ${command.stderr()}`);
  return JSON.parse(command.stdout()) as T;
}

function commandOf(checkout: string): string {
  return join(checkout, 'service/bin/orgdir.js');
}

function withOwnNode(checkout: string): Pick<StartOptions, 'path'> {
  return { path: join(checkout, 'node_modules/.bin') };
}
