/** Checks the servers of a setting that names several hosts, and chooses the one that the other checks use. */
import { sql, type Database } from '../database/database.ts';
import { choosePrimary, readServers, type ServerState } from '../database/primary.ts';
import { StartError } from '../errors.ts';
import { splitHosts } from '../settings/setting-types.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** `url` is that of the primary, or null if there is none. */
export async function checkServers(
  address: string,
  variable: string,
): Promise<{ url: string | null; findings: Finding[] }> {
  const servers = await readServers(splitHosts(address));
  try {
    const { url, name } = choosePrimary(servers, variable);
    const others = servers.filter((server) => server.url !== url);
    return { url, findings: others.map((server) => checkOther(server, name, variable)) };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const advice = `start the servers that do not run, and correct the hosts in ${variable}`;
    return { url: null, findings: [failed('database', error.message, advice)] };
  }
}

function checkOther({ name, state }: ServerState, primary: string, variable: string): Finding {
  if (state.kind === 'read-only') return ok('servers', `${name} is a standby`);
  if (state.kind === 'unreachable')
    return warning(
      'servers',
      `${name} cannot be reached: ${state.reason}`,
      `start it, or remove it from ${variable}: nothing takes over for the primary without it`,
    );
  return failed(
    'servers',
    `${name} accepts writes although ${primary} is the primary`,
    'stop it, and make it a standby of the primary; other programs may still write to it',
  );
}

/** Without a synchronous standby, a failover loses the last commits. */
export async function checkSynchronous(database: Database): Promise<Finding> {
  const { rows } = await sql<{ names: string; level: string }>`
    select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as level
  `.execute(database);
  const { names = '', level = '' } = rows[0] ?? {};
  if (names !== '' && ['on', 'remote_apply'].includes(level))
    return ok('servers', `commits wait for a standby (${names})`);
  return warning(
    'servers',
    'commits do not wait for a standby, so a failover can lose acknowledged events',
    "set synchronous_standby_names, for example to 'any 1 (*)', and leave synchronous_commit on",
  );
}
