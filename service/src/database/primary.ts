/**
 * Finds and follows the primary of a PostgreSQL cluster whose servers are all hosts of one setting. A process asks the
 * other servers twice per second whether one of them was promoted. If so, it drops every connection to the old primary,
 * which may be dead, hung or cut off, and connects to the new one (docs/decisions/0038-database-servers.md).
 */
import type { Socket } from 'node:net';
import pg from 'pg';
import { StartError } from '../errors.ts';
import { formatOptions } from './session-settings.ts';

/** What a server says about itself. A standby and a read-only server refuse writes and have no timeline. */
export type ServerState = {
  name: string;
  url: string;
  state:
    | { kind: 'unreachable'; reason: string }
    | { kind: 'read-only'; system: string }
    | { kind: 'writable'; system: string; startedAt: string; timeline: number };
};
type Writable = ServerState & { state: { kind: 'writable' } };

export type PrimaryMove = { from: string; to: string };

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** How often the other servers are asked. */
const lookMs = 500;
/** For a connection to another server, and then for its response. */
const probeTimeoutMs = 2_000;

/**
 * Throws a `StartError` if there is no primary, or if the servers do not belong together. `variable` is the setting that
 * names them.
 */
export async function followPrimary(
  urls: string[],
  variable: string,
  onMoved: (move: PrimaryMove) => void,
): Promise<Primary> {
  return new Primary(urls, choosePrimary(await readServers(urls), variable), onMoved);
}

export class Primary {
  /** Connects to the current primary only. */
  readonly Client = clientOf(this);
  /** How often a standby has become the primary. */
  moves = 0;
  /** How many other hosts accept writes at the moment. */
  others = 0;
  readonly #onMoved: (move: PrimaryMove) => void;
  readonly #probes: Probe[];
  readonly #clients = new Map<pg.Client, string>();
  #current: Writable;
  #stopped = false;
  #timer: NodeJS.Timeout;

  constructor(urls: string[], first: Writable, onMoved: (move: PrimaryMove) => void) {
    this.#probes = urls.map(createProbe);
    this.#current = first;
    this.#onMoved = onMoved;
    this.#timer = this.#lookLater();
  }

  get url(): string {
    return this.#current.url;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#closeProbes();
  }

  /** Drops this connection once its server is not the primary any more. */
  add(client: pg.Client): void {
    this.#clients.set(client, this.url);
    client.once('end', () => this.#clients.delete(client));
  }

  requireCurrent(state: ServerState['state']): void {
    const { name, state: known } = this.#current;
    if (!isNext(state, known)) throw refusal(`${name} is not the primary at the moment`);
    known.timeline = state.timeline;
    known.startedAt = state.startedAt;
  }

  #closeProbes(): void {
    for (const probe of this.#probes) probe.close();
  }

  #lookLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#look(), lookMs).unref();
  }

  async #look(): Promise<void> {
    const others = this.#probes.filter(({ url }) => url !== this.url);
    const servers = await Promise.all(others.map((probe) => probe.read()));
    const promoted = newestFirst(servers).find(({ state }) => isNext(state, this.#current.state));
    const isOver = promoted && (await this.#isReplacedBy(promoted));
    // A probe may have connected after the stop.
    if (this.#stopped) return this.#closeProbes();
    if (isOver) this.#move(promoted);
    const { startedAt } = this.#current.state;
    this.others = isOver
      ? 0
      : newestFirst(servers).filter(({ state }) => state.startedAt !== startedAt).length;
    this.#timer = this.#lookLater();
  }

  /** After a failover with a shared disk the timeline is the same, and then the old primary must be gone. */
  async #isReplacedBy({ state }: Writable): Promise<boolean> {
    if (state.timeline > this.#current.state.timeline) return true;
    return newestFirst(await readServers([this.url])).length === 0;
  }

  #move(to: Writable): void {
    const from = this.#current;
    this.#current = to;
    this.moves += 1;
    for (const [client, url] of this.#clients) if (url !== to.url) cut(client);
    // It is not asked any more.
    this.#probes.find(({ url }) => url === to.url)?.close();
    this.#onMoved({ from: from.name, to: to.name });
  }
}

function clientOf(primary: Primary): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: primary.url });
      primary.add(this);
      // The pool listens only after the check, and an error without a listener would end the process.
      this.on('error', () => {});
    }

    // The pool passes a callback.
    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.connectAndCheck();
      if (!callback) return connected;
      connected.then(
        (client) => process.nextTick(callback, null, client),
        (error: Error) => process.nextTick(callback, error),
      );
      return undefined;
    }

    private async connectAndCheck(): Promise<pg.Client> {
      await super.connect();
      try {
        primary.requireCurrent(await readState(this));
      } catch (error) {
        cut(this);
        throw error;
      }
      return this;
    }
  };
}

/** Reads the state of every server once. */
export async function readServers(urls: string[]): Promise<ServerState[]> {
  return Promise.all(urls.map((url) => readOnce(createProbe(url))));
}

/** Chooses the primary with the newest timeline. */
export function choosePrimary(servers: ServerState[], variable: string): Writable {
  const [first, second] = newestFirst(servers);
  const [known, stranger] = distinctSystems(servers);
  if (known && stranger)
    throw new StartError(
      `${variable} names servers of different clusters, ${known.name} and ${stranger.name}; name one primary and its standbys`,
    );
  if (!first)
    throw new StartError(
      `no host in ${variable} accepts writes (${servers.map(describe).join('; ')}); start or promote one`,
    );
  if (second && areTwo(first, second))
    throw new StartError(
      `${variable} names two primaries, ${first.name} and ${second.name}; stop the wrong one, and make it a standby of the other`,
    );
  return first;
}

function newestFirst(servers: ServerState[]): Writable[] {
  return servers
    .filter((server): server is Writable => server.state.kind === 'writable')
    .sort((one, other) => other.state.timeline - one.state.timeline);
}

/** The first server of each cluster. */
function distinctSystems(servers: ServerState[]): ServerState[] {
  const bySystem = Map.groupBy(
    servers.filter(({ state }) => state.kind !== 'unreachable'),
    ({ state }) => (state.kind === 'unreachable' ? '' : state.system),
  );
  return [...bySystem.values()].flatMap((group) => group.slice(0, 1));
}

/** Two names may lead to one server. An old primary that came back has an older timeline, and is not used. */
function areTwo({ state: one }: Writable, { state: other }: Writable): boolean {
  return one.timeline === other.timeline && one.startedAt !== other.startedAt;
}

function describe({ name, state }: ServerState): string {
  return state.kind === 'unreachable' ? `${name}: ${state.reason}` : `${name} is ${state.kind}`;
}

/** Whether a server may be the primary after one with `current`. */
function isNext(
  state: ServerState['state'],
  current: Writable['state'],
): state is Writable['state'] {
  return (
    state.kind === 'writable' &&
    state.system === current.system &&
    state.timeline >= current.timeline
  );
}

type Probe = { url: string; read(): Promise<ServerState>; close(): void };

/** Keeps its connection between reads. */
function createProbe(url: string): Probe {
  let client: pg.Client | null = null;

  function close(): void {
    if (client) cut(client);
    client = null;
  }

  async function open(): Promise<pg.Client> {
    client = new pg.Client({
      connectionString: url,
      application_name: `orgdir probe, pid ${process.pid}`,
      options: formatOptions(),
      connectionTimeoutMillis: probeTimeoutMs,
      query_timeout: probeTimeoutMs,
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  return {
    url,
    async read() {
      const name = formatHost(url);
      try {
        return { name, url, state: await readState(client ?? (await open())) };
      } catch (error) {
        close();
        return {
          name,
          url,
          state: { kind: 'unreachable', reason: describeConnectFault(error).reason },
        };
      }
    },
    close,
  };
}

async function readOnce(probe: Probe): Promise<ServerState> {
  try {
    return await probe.read();
  } finally {
    probe.close();
  }
}

type Row = { read_only: boolean; system: string; started_at: string; timeline: number | null };

async function readState(
  client: pg.Client,
): Promise<Exclude<ServerState['state'], { reason: string }>> {
  const { rows } = await client.query<Row>(`
    select current_setting('transaction_read_only')::boolean as read_only,
      (select system_identifier::text from pg_control_system()) as system,
      extract(epoch from pg_postmaster_start_time())::text as started_at,
      -- the control file has the timeline of a promotion only after its first checkpoint
      case when not pg_is_in_recovery()
        then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline
  `);
  const [row] = rows;
  if (!row) throw new Error('the server returned no state');
  const { read_only: isReadOnly, system, started_at: startedAt, timeline } = row;
  return isReadOnly || timeline === null
    ? { kind: 'read-only', system }
    : { kind: 'writable', system, startedAt, timeline };
}

/** Sends no Terminate message: a server that hangs would not read it. */
function cut(client: pg.Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}

/** A connection fault, because the next attempt may succeed. */
function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: '25006' });
}

/** The host and port of an address, without user, password and options. */
export function formatHost(url: string): string {
  const { host, searchParams } = new URL(url);
  return host || searchParams.get('host') || 'localhost';
}

type ConnectFault = { code: string | null; reason: string };

const untrusted =
  'no authority that this machine trusts has signed its certificate; name the file of the one that has with sslrootcert in the address';
const inWords: Record<string, string> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it on the server',
};

/** Why a server cannot be used, in words: what Node.js and `pg` say of certificates and passwords does not say what to do. */
export function describeConnectFault(error: unknown): ConnectFault {
  // If all addresses of a host refuse, Node.js throws one error without a message.
  const first = (error instanceof AggregateError ? error.errors[0] : error) as {
    code?: string;
    message: string;
  };
  const code = first.code ?? null;
  const message = first.message.split('\n')[0] ?? '';
  const reason = /client password must be a (non-empty )?string/.test(message)
    ? 'it asks for a password, and the address has none'
    : message;
  return { code, reason: inWords[code ?? ''] ?? reason };
}
