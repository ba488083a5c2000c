/**
 * Checks everything that the service needs, and changes nothing. No check throws, or
 * depends on the success of another. `commands/doctor-command.ts` prints the findings.
 */
import { checkDataDir, checkMail, checkPorts } from './check-host.ts';
import type { ConnectionSettings, Database } from '../database/database.ts';
import { type Config, readConfig, listSecrets, redact, findMisspelt } from '../settings/config.ts';
import { type DatabaseCheckOptions, checkDatabase, checkLive } from './check-database.ts';
import { checkSecretKey } from './check-secrets.ts';
import { type Finding, failed, ok, warning } from './finding.ts';
import type { Environment } from '../settings/settings.ts';

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

/** `faulty` names the invalid variables: checks that depend on them are skipped. */
function checkConfig(env: Environment) {
  const { config, faults } = readConfig(env);
  const findings = faults.map(({ message }) =>
    failed('config', message, 'fix the variable; .env.example describes each one'),
  );
  findings.push(
    ...findMisspelt(env).suspects.map(({ variable, setting }) =>
      warning(
        'config',
        `${variable} is not a setting, but looks like ${setting}`,
        'rename it, or ignore this if another program uses it',
      ),
    ),
  );
  if (findings.length === 0) findings.push(ok('config', 'all variables are valid'));
  const faulty: ReadonlySet<string> = new Set(faults.flatMap(({ variables }) => variables));
  return { findings, config, faulty };
}
