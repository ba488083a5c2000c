import { once } from 'node:events';
import { createServer } from 'node:net';
import { httpAddress, type Config } from '../settings/config.ts';
import { failed, ok, skipped, warning, type Finding } from './finding.ts';

type Listening = { host: string; port: number };

const timeoutMs = 3_000;

/** Checks whether the service can listen on its ports, or already does. */
export async function checkPorts(
  { host, port, internal, roles }: Pick<Config, 'host' | 'port' | 'internal' | 'roles'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  return Promise.all([
    roles.has('api')
      ? checkPort('public_port', 'PORT', { host, port }, '/api/v1/status', faulty)
      : skipped('public_port', 'not used: ROLES does not include api'),
    checkPort('internal_port', 'INTERNAL_PORT', internal, '/readyz', faulty),
  ]);
}

async function checkPort(
  check: string,
  variable: 'PORT' | 'INTERNAL_PORT',
  { host, port }: Listening,
  path: string,
  faulty: ReadonlySet<string>,
): Promise<Finding> {
  const hostVariable = variable.replace('PORT', 'HOST');
  if (faulty.has(variable) || faulty.has(hostVariable))
    return skipped(check, 'not checked: the configuration is invalid');
  if (port === 0) return ok(check, 'the system chooses a port at the start');
  const code = await tryListen({ host, port });
  if (code === null) return ok(check, `${host}:${port} is free`);
  if (code === 'EADDRINUSE') return checkHolder(check, variable, { host, port }, path);
  if (code === 'EACCES')
    return failed(check, `this user may not use ${variable} ${port}`, 'choose a port above 1023');
  return failed(
    check,
    `${hostVariable} ${host} is not an address of this machine (${code})`,
    `choose another, for example ${hostVariable}=127.0.0.1`,
  );
}

/** The error code of a test listener, or null if it can listen. */
async function tryListen(where: Listening): Promise<string | null> {
  const server = createServer();
  try {
    server.listen(where);
    await once(server, 'listening');
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    server.close();
  }
}

async function checkHolder(
  check: string,
  variable: string,
  { host, port }: Listening,
  path: string,
): Promise<Finding> {
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = `${httpAddress(everywhere[host] ?? host, port)}${path}`;
  const response = await request(address);
  if (response?.isOurs)
    return response.isWell
      ? ok(check, `the service responds at ${host}:${port}`)
      : warning(
          check,
          `the service responds at ${host}:${port} but is not healthy: ${address}`,
          'check its log and the other results',
        );
  return failed(
    check,
    `another program uses ${host}:${port}${response ? '' : ' and does not respond'}`,
    `stop it, or choose another ${variable}`,
  );
}

/** Null if nothing responds over HTTP. */
async function request(address: string): Promise<{ isOurs: boolean; isWell: boolean } | null> {
  try {
    const response = await fetch(address, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    });
    const body = readEnvelope(await response.text());
    return {
      isOurs: body !== null,
      isWell: response.ok && body?.data?.status !== 'degraded',
    };
  } catch {
    return null;
  }
}

type Envelope = { success: boolean; data?: { status?: unknown } };

/** Null if the response is not from this service. */
function readEnvelope(text: string): Envelope | null {
  try {
    const body = JSON.parse(text) as Partial<Envelope> | null;
    return typeof body?.success === 'boolean' ? (body as Envelope) : null;
  } catch {
    return null;
  }
}
