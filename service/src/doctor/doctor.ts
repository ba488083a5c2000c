/**
 * Checks everything that the service needs, and changes nothing. Each check is in a separate file, never throws, and
 * does not depend on the success of another. `commands/doctor-command.ts` prints the findings.
 */
import { checkConfig } from './check-config.ts';
import { checkDataDir } from './check-data-dir.ts';
import type { ConnectionSettings, Database } from '../database/database.ts';
import type { Config } from '../settings/config.ts';
import { type DatabaseCheckOptions, checkDatabase, checkLive } from './check-database.ts';
import { checkMail } from './check-mail.ts';
import { checkPorts } from './check-ports.ts';
import { checkSecretKey } from './check-secret-key.ts';
import { type Finding, failed, ok } from './finding.ts';
import { listSecrets, redact } from '../settings/redact.ts';

export type DoctorOptions = Pick<DatabaseCheckOptions, 'now'> &
  Partial<Pick<DatabaseCheckOptions, 'onOpening'>> & {
    env: Readonly<Record<string, string | undefined>>;
    nodeVersion: string;
  };

/** Returns every finding, in reading order. Takes a few seconds, even if nothing responds. */
export async function runChecks({
  env,
  nodeVersion,
  now,
  onOpening = () => {},
}: DoctorOptions): Promise<Finding[]> {
  const { findings, config, faulty } = checkConfig(env);
  const groups = await Promise.all([
    settled('data_dir', checkDataDir(config, faulty)),
    settled('secret_key', checkSecretKey(config, faulty)),
    settled('database', checkDatabase(config, faulty, { now, onOpening })),
    settled('ports', checkPorts(config, faulty)),
    settled('mail', checkMail(config, faulty)),
  ]);
  return redacted(listSecrets(env), [checkNode(nodeVersion), ...findings, ...groups.flat()]);
}

/** The findings about the database that a running process uses, its replicas, workers and queue. */
export async function runLiveChecks(
  database: Database,
  connection: ConnectionSettings,
  config: Config,
): Promise<Finding[]> {
  const findings = await settled('database', checkLive(database, connection, config));
  return redacted(config.secretsToHide, findings);
}

function redacted(secrets: string[], findings: Finding[]): Finding[] {
  return findings.map(({ check, status, message, advice }) => ({
    check,
    status,
    message: redact(message, secrets),
    advice: advice && redact(advice, secrets),
  }));
}

/** An unexpected error of a check becomes a finding, too. */
async function settled(check: string, findings: Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await findings;
  } catch (error) {
    const { message } = error as Error;
    return [failed(check, `the check failed: ${message.split('\n')[0]}`, 'fix this error first')];
  }
}

const oldestMajor = 24;

/** `version` is in the format of `process.versions.node`. */
export function checkNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= oldestMajor) return ok('node', `Node.js ${version}`);
  return failed(
    'node',
    `Node.js ${version} is too old; version ${oldestMajor} or later is required`,
    'run it through npm (npm start, npx orgdir), which uses the installed Node.js package',
  );
}
