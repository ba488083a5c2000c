import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { endOnSignal, print } from './with-database.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check everything that the service needs and say what to do. It changes and sends nothing.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
It checks Node.js, every environment variable, DATA_DIR (permissions, disk space, modes of secret files), SECRET_KEY and
whether it decrypts stored secrets, the database (version, encoding, clock, migrations, partitions), workers
and the queue's lag, both ports, and the mail server. It works whether the service runs or not, and shows no secrets.
It exits with 1 if a check failed; warnings do not count as failures.

Examples:
  orgdir doctor
  orgdir doctor --json | jq '.checks[] | select(.status != "ok")'`,
    )
    .action(async ({ json }: { json?: boolean }) => {
      // Imported here, because the other commands start faster without it.
      const { runChecks } = await import('../doctor/doctor.ts');
      const checks = await runChecks({
        env: process.env,
        nodeVersion: process.versions.node,
        now: Date.now,
        onOpening: endOnSignal,
      });
      const status = worst(checks);
      if (status === 'failed') process.exitCode = 1;
      print(json, { status, checks }, checks.flatMap(formatFinding));
    });
}

function worst(checks: Finding[]): 'ok' | 'warning' | 'failed' {
  if (checks.some(({ status }) => status === 'failed')) return 'failed';
  return checks.some(({ status }) => status === 'warning') ? 'warning' : 'ok';
}

const columns = [9, 15] as const;

function formatFinding({ check, status, message, advice }: Finding): string[] {
  const line = `${status.padEnd(columns[0])}${check.padEnd(columns[1])} ${message}`;
  return advice === null ? [line] : [line, `${' '.repeat(columns[0] + columns[1])} → ${advice}`];
}
