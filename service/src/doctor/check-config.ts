import { readConfig } from '../settings/config.ts';
import { findMisspelt } from '../settings/misspelt-settings.ts';
import type { Environment } from '../settings/settings.ts';
import { failed, ok, warning } from './finding.ts';

/** `faulty` names the invalid variables: checks that depend on them are skipped. */
export function checkConfig(env: Environment) {
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
