/** Checks what the machine offers: the folder of the data, ports and the mail server. */
import { access, constants, lstat, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseJson } from '../contract/json.ts';
import { type Config, httpAddress } from '../settings/config.ts';
import { failed, ok, skipped, warning, type Finding } from './finding.ts';
import { checkMailServer, type MailError } from '../runtime/mail.ts';

/** A first start takes some 100 MB, plus 60 MB for the programs if it runs as root; crash recovery needs space, too. */
const spaceFailedBytes = 200 * 1024 * 1024;
const spaceWarningBytes = 1024 * 1024 * 1024;
const secretFiles = ['secret-key', 'database-password'];

/** Checks the folder of the embedded database, which is not used with a DATABASE_URL. */
export async function checkDataDir(
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('DATA_DIR') || faulty.has('DATABASE_URL'))
    return [skipped('data_dir', 'not checked: the configuration is invalid')];
  if (databaseUrl !== null) return [skipped('data_dir', 'not used: DATABASE_URL is set')];
  const folder = await checkFolder(dataDir);
  if (folder.status === 'failed')
    return [folder, skipped('disk_space', 'not checked: the folder cannot be used')];
  return [folder, await checkSpace(dataDir), ...(await checkModes(dataDir))];
}

async function checkFolder(dataDir: string): Promise<Finding> {
  const found = await stat(dataDir).catch(() => null);
  if (!found) return checkCreation(dataDir);
  if (!found.isDirectory())
    return failed('data_dir', `${dataDir} is not a folder`, 'choose another DATA_DIR');
  if (await isWritable(dataDir)) return ok('data_dir', dataDir);
  return failed(
    'data_dir',
    `this user cannot write to ${dataDir}`,
    'run as the user who first started the service, or choose another DATA_DIR',
  );
}

/** Whether the first start can create the folder. */
async function checkCreation(dataDir: string): Promise<Finding> {
  const parent = await existing(dataDir);
  const fault = await whyNothingCanBeCreated(parent);
  if (fault === null)
    return ok('data_dir', `${dataDir} does not exist yet; the first start creates it`);
  return failed(
    'data_dir',
    `${dataDir} does not exist and cannot be created: ${fault}`,
    'create it for this user, or choose another DATA_DIR',
  );
}

async function whyNothingCanBeCreated(parent: string): Promise<string | null> {
  if (!(await stat(parent)).isDirectory()) return `${parent} is not a folder`;
  if (!(await isWritable(parent))) return `this user cannot write to ${parent}`;
  // Such as /proc, where root may write and still can create nothing.
  if ((await statfs(parent)).blocks === 0) return `${parent} does not store files`;
  return null;
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function checkSpace(dataDir: string): Promise<Finding> {
  const place = await existing(dataDir);
  const { bavail, bsize } = await statfs(place);
  return checkFreeSpace(bavail * bsize, place);
}

export function checkFreeSpace(freeBytes: number, place: string): Finding {
  const message = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free at ${place}`;
  const advice = 'free some disk space: the database stops when the disk is full';
  if (freeBytes < spaceFailedBytes) return failed('disk_space', message, advice);
  if (freeBytes < spaceWarningBytes) return warning('disk_space', message, advice);
  return ok('disk_space', message);
}

/** The folder, or its nearest existing parent. */
async function existing(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => null);
  const above = dirname(folder);
  return found || above === folder ? folder : existing(above);
}

async function checkModes(dataDir: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of secretFiles) {
    const file = join(dataDir, name);
    const found = await lstat(file).catch(() => null);
    if (!found) continue;
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    findings.push(
      (found.mode & 0o077) === 0
        ? ok('file_modes', `${file} has mode ${mode}`)
        : warning(
            'file_modes',
            `${file} has mode ${mode}: others can read it`,
            `chmod 600 ${file}`,
          ),
    );
  }
  return findings;
}

type Listening = { host: string; port: number };

const portTimeoutMs = 3_000;

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
      signal: AbortSignal.timeout(portTimeoutMs),
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
  const body = parseJson(text) as Partial<Envelope> | null | undefined;
  return typeof body?.success === 'boolean' ? (body as Envelope) : null;
}

const mailTimeoutMs = 8_000;

const mailAdvice: Partial<Record<MailError, string>> = {
  auth: 'check user and password in SMTP_URL; percent-encode special characters in them',
  connect: 'check host and port in SMTP_URL, and any firewall between',
  dns: 'check the host in SMTP_URL',
  tls: 'check that the scheme matches the port: smtps: uses TLS from the start, usually on port 465; smtp: uses STARTTLS, usually on port 587, and requires it with a valid certificate from a server on another machine',
  timeout: 'check host and port in SMTP_URL, and any firewall between',
};

/** Connects, greets and signs in. It sends no mail. */
export async function checkMail(
  { mail }: Pick<Config, 'mail'>,
  faulty: ReadonlySet<string>,
): Promise<Finding[]> {
  if (faulty.has('SMTP_URL') || faulty.has('MAIL_FROM'))
    return [skipped('mail', 'not checked: the configuration is invalid')];
  if (!mail) return [skipped('mail', 'not configured: owners get no mail')];
  const server = `${mail.host}:${mail.port}`;
  const fault = await checkMailServer(mail, { timeoutMs: mailTimeoutMs });
  if (!fault)
    return [ok('mail', `${server} accepts mail${mail.credentials ? ' after sign-in' : ''}`)];
  const code = fault.statusCode === null ? '' : `, status ${fault.statusCode}`;
  return [
    failed(
      'mail',
      `${server} cannot be used (${fault.error}${code})`,
      mailAdvice[fault.error] ?? 'check the log of the mail server',
    ),
  ];
}
