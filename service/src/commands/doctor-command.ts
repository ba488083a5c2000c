import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { endOnSignal, print } from './with-database.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Look at everything that the service needs, and say what to do. It changes nothing and sends nothing.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
It looks at: Node.js, every variable of the environment, DATA_DIR (rights, disk space, modes of secret files), SECRET_KEY
and whether it opens what is stored, the database (version, encoding, extension, clock, migrations, partitions), workers
and how far the queue lags, both ports, and the mail server. It works while the service runs and while nothing does, and
shows no secret. Ends with 1 where a check has failed; warnings are no failure.

Examples:
  orgdir doctor
  orgdir doctor --json | jq '.checks[] | select(.status != "ok")'`,
    )
    .action(async ({ json }: { json?: boolean }) => {
      // Loaded here alone, as is all that only one command needs: the others start the sooner.
      const { examine } = await import('../doctor/doctor.ts');
      const checks = await examine({
        env: process.env,
        nodeVersion: process.versions.node,
        now: Date.now,
        onOpening: endOnSignal,
      });
      const status = worst(checks);
      if (status === 'failed') process.exitCode = 1;
      print(json, { status, checks }, checks.flatMap(inWords));
    });
}

function worst(checks: Finding[]): 'ok' | 'warning' | 'failed' {
  if (checks.some(({ status }) => status === 'failed')) return 'failed';
  return checks.some(({ status }) => status === 'warning') ? 'warning' : 'ok';
}

const columns = [9, 15] as const;

function inWords({ check, status, message, advice }: Finding): string[] {
  const line = `${status.padEnd(columns[0])}${check.padEnd(columns[1])} ${message}`;
  return advice === null ? [line] : [line, `${' '.repeat(columns[0] + columns[1])} → ${advice}`];
}
