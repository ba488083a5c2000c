/**
 * Looks at everything that the service needs, and changes nothing. Each check stands in a file of its own; none throws,
 * and none needs another to have gone well. `commands/doctor-command.ts` prints what was found.
 */
import { checkConfig } from './check-config.ts';
import { checkDataDir } from './check-data-dir.ts';
import { checkDatabase, type DatabaseCheckOptions } from './check-database.ts';
import { checkMail } from './check-mail.ts';
import { checkNode } from './check-node.ts';
import { checkPorts } from './check-ports.ts';
import { checkSecretKey } from './check-secret-key.ts';
import { failed, type Finding } from './finding.ts';
import { createRedaction } from './redact.ts';

export type Examination = Pick<DatabaseCheckOptions, 'now'> &
  Partial<Pick<DatabaseCheckOptions, 'onOpening'>> & {
    env: Readonly<Record<string, string | undefined>>;
    nodeVersion: string;
  };

/** Every finding, in the order in which they are worth reading. Takes some seconds at most, whatever does not answer. */
export async function examine({
  env,
  nodeVersion,
  now,
  onOpening = () => {},
}: Examination): Promise<Finding[]> {
  const { findings, config, faulty } = checkConfig(env);
  const groups = await Promise.all([
    looked('data_dir', checkDataDir(config, faulty)),
    looked('secret_key', checkSecretKey(config, faulty)),
    looked('database', checkDatabase(config, faulty, { now, onOpening })),
    looked('ports', checkPorts(config, faulty)),
    looked('mail', checkMail(config, faulty)),
  ]);
  const redact = createRedaction(env);
  return [checkNode(nodeVersion), ...findings, ...groups.flat()].map(
    ({ check, status, message, advice }) => ({
      check,
      status,
      message: redact(message),
      advice: advice && redact(advice),
    }),
  );
}

/** What a check did not foresee is a finding too. */
async function looked(check: string, findings: Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await findings;
  } catch (error) {
    const { message } = error as Error;
    return [failed(check, `could not be looked at: ${message.split('\n')[0]}`, 'mend that first')];
  }
}
