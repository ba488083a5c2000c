import { readConfig } from '../config.ts';
import type { Environment } from '../settings.ts';
import { failed, ok } from './finding.ts';

/** `faulty` names the invalid variables: checks that depend on them are skipped. */
export function checkConfig(env: Environment) {
  const { config, faults } = readConfig(env);
  const findings = faults.map(({ message }) =>
    failed('config', message, 'fix the variable; .env.example describes each one'),
  );
  if (findings.length === 0) findings.push(ok('config', 'all variables are valid'));
  const faulty: ReadonlySet<string> = new Set(faults.flatMap(({ variables }) => variables));
  return { findings, config, faulty };
}
