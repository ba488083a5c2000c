/** The client's command: its arguments, errors and exit codes, which are those of `orgdir`. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { checkBaseUrl, checkKey } from '../options.ts';
import { CommandError, cannotStart, invalidArguments } from './command-error.ts';
import { escapeLines, toJsonLine } from './escape-controls.ts';
import { checkEventName, checkStreamed, eventNames } from './event-names.ts';
import { help } from './help.ts';
import { listen } from './listen.ts';
import { installedFrom } from './package-files.ts';
import { receive } from './receive.ts';
import { registerByKey } from './register-by-key.ts';
import { readLines, readSecrets } from './secrets.ts';
import { trigger } from './trigger.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

const common = {
  'forward-to': { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const satisfies Options;
const listenOptions = {
  ...common,
  service: { type: 'string' },
  key: { type: 'string' },
  webhook: { type: 'string' },
  event: { type: 'string', multiple: true, default: [] as string[] },
  replay: { type: 'string' },
  port: { type: 'string' },
  status: { type: 'string' },
  secret: { type: 'string', multiple: true, default: [] as string[] },
  register: { type: 'boolean', default: false },
} as const satisfies Options;
const triggerOptions = {
  ...common,
  'service-name': { type: 'string', default: 'Service' },
} as const satisfies Options;

/** A page of events. */
const replayMax = 100;
/** Where handlers in the documentation listen. */
const defaultPort = 4000;

/** Runs a command and sets the exit code: 0 done, 1 refused or failed, 2 invalid arguments. */
export async function run(args: string[]): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // A reader that closes the pipe is no failure.
      if (error.code !== 'EPIPE') process.exitCode = 1;
    });
  try {
    const [name, ...rest] = args;
    if (name === 'listen') await runListen(rest);
    else if (name === 'trigger') await runTrigger(rest);
    else if (name === '--help' || name === '-h' || name === 'help') console.log(help);
    else throw invalidArguments('the command must be listen or trigger; run with --help for usage');
  } catch (error) {
    process.exitCode = reportError(error, args.includes('--json'));
  }
}

async function runListen(args: string[]): Promise<void> {
  const { values, positionals } = parse(args, listenOptions);
  if (values.help) return console.log(help);
  if (positionals.length > 0) throw invalidArguments('listen takes options only');
  if (values.key !== undefined && values.key !== '-')
    throw invalidArguments(
      '--key takes only -, for standard input, because others can see arguments; or set ORGDIR_API_KEY',
    );
  for (const name of values.event) checkEventName(name);
  const status = parseInteger('--status', values.status ?? '200', 200, 599);
  const port = values.port === undefined ? null : parseInteger('--port', values.port, 0, 65_535);
  const showing = { status, json: values.json };
  if (values.register || values.secret.length > 0)
    return runReceive(values, port ?? defaultPort, showing);

  const forwardTo = values['forward-to'] === undefined ? null : parseTarget(values['forward-to']);
  if (forwardTo) refuse(values, ['port', 'status'], '--forward-to, because your handler responds');
  if (values.webhook === undefined) for (const name of values.event) checkStreamed(name);
  const replay =
    values.replay === undefined ? 0 : parseInteger('--replay', values.replay, 1, replayMax);
  const service = serviceAddress(values.service);
  const apiKey = await readKey(values.key, 'read:events');
  const { webhook, event: events } = values;
  await listen({
    ...showing,
    service,
    apiKey,
    forwardTo,
    port: port ?? 0,
    webhook,
    events,
    replay,
  });
}

type ListenValues = ReturnType<typeof parse<typeof listenOptions>>['values'];

/** What the service sends to this machine. */
async function runReceive(
  values: ListenValues,
  port: number,
  showing: { status: number; json: boolean },
): Promise<void> {
  const { key, secret, register, event } = values;
  refuse(
    values,
    ['forward-to', 'webhook', 'replay'],
    '--secret and --register, because the service sends',
  );
  if (!register && (key !== undefined || event.length > 0))
    throw invalidArguments('with --secret, --key and --event require --register');
  if (key === '-' && secret.includes('-'))
    throw invalidArguments('--key and --secret cannot both be read from standard input');
  const secrets = await readSecrets(secret);
  if (!register) return receive({ ...showing, port, secrets, register: null });
  const service = serviceAddress(values.service);
  const apiKey = await readKey(key, 'write:webhooks');
  const events = event.length > 0 ? event : undefined;
  const registering = (url: string) => registerByKey(service, apiKey, { url, events });
  await receive({ ...showing, port, secrets, register: registering });
}

async function runTrigger(args: string[]): Promise<void> {
  const { values, positionals } = parse(args, triggerOptions);
  if (values.help) return console.log(help);
  const [name, ...more] = positionals;
  if (name === undefined)
    return console.log(values.json ? toJsonLine(eventNames) : eventNames.join('\n'));
  if (more.length > 0) throw invalidArguments('trigger takes one event');
  const serviceName = values['service-name'];
  if (!/^[A-Za-z0-9]{1,32}$/.test(serviceName))
    throw invalidArguments(
      '--service-name must be letters and digits, as SERVICE_NAME of the service',
    );
  const target = parseTarget(values['forward-to'] ?? `http://127.0.0.1:${defaultPort}/`);
  await trigger(name, { target, serviceName, json: values.json });
}

/** Its own errors name the option; arguments that it does not expect are not quoted, because they may be secrets. */
function parse<Config extends Options>(args: string[], options: Config) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: true });
  } catch (error) {
    const [message = ''] = (error as Error).message.split(/[.\n]/);
    throw invalidArguments(`${message}; run with --help for usage`);
  }
}

function refuse(values: ListenValues, names: (keyof ListenValues)[], reason: string): void {
  const given = names.filter((name) => values[name] !== undefined);
  if (given.length > 0)
    throw invalidArguments(
      `${given.map((name) => `--${name}`).join(' and ')} cannot be used with ${reason}`,
    );
}

function parseInteger(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw invalidArguments(`${option} must be a whole number from ${least} to ${most}`);
}

function parseTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  // It is printed.
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return url;
  throw invalidArguments(
    '--forward-to must be an http or https address without user and password, such as http://localhost:4000/hooks',
  );
}

/** Throws where none is known. */
function serviceAddress(given: string | undefined): string {
  const address = given ?? (process.env['ORGDIR_URL'] || installedFrom());
  if (address === null)
    throw invalidArguments(
      'the address of the service is not known; add --service https://… or set ORGDIR_URL',
    );
  try {
    return checkBaseUrl(address).href;
  } catch (error) {
    const option = given === undefined ? 'ORGDIR_URL' : '--service';
    throw invalidArguments((error as Error).message.replace('baseUrl', option));
  }
}

/** From standard input with `-`, or else from the environment. */
async function readKey(from: string | undefined, scope: string): Promise<string> {
  if (from === '-' && process.stdin.isTTY) console.error('Paste the API key and press Enter:');
  const key = from === '-' ? (await readLines(1))[0] : process.env['ORGDIR_API_KEY'];
  if (key === undefined || key === '')
    throw cannotStart(
      `there is no API key: set ORGDIR_API_KEY, or pass --key - and the key on standard input; create one with the scope ${scope} in the portal, at /profile/developer`,
    );
  try {
    checkKey(key);
    return key;
  } catch (error) {
    throw cannotStart((error as Error).message.replace('apiKey', 'the API key'));
  }
}

function reportError(error: unknown, json: boolean): number {
  const isKnown = error instanceof CommandError;
  const code = isKnown ? error.code : 'internal_error';
  const { message, stack = message } = error as Error;
  if (json) console.error(toJsonLine({ error: { code, message, details: {} } }));
  else console.error(escapeLines(isKnown ? message : stack));
  return code === 'invalid_arguments' ? 2 : 1;
}
