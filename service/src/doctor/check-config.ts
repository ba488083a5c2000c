import { loadConfig, type Config } from '../config.ts';
import { StartError } from '../errors.ts';
import { failed, ok, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type CheckedConfig = {
  findings: Finding[];
  /** The configuration without the wrong variables. */
  config: Config;
  /** The names of the wrong variables: checks that depend on them are skipped. */
  faulty: ReadonlySet<string>;
};

/** More than the number of variables. */
const faultsMax = 100;

/**
 * Finds every wrong variable: it removes the one that prevents the start and tries again until the configuration loads.
 */
export function checkConfig(env: Environment): CheckedConfig {
  const remaining: Record<string, string | undefined> = { ...env };
  const findings: Finding[] = [];
  const faulty = new Set<string>();
  while (findings.length < faultsMax) {
    const loaded = tryConfig(remaining);
    if (typeof loaded !== 'string') {
      if (findings.length === 0) findings.push(ok('config', 'all variables are valid'));
      return { findings, config: loaded, faulty };
    }
    const culprit = findCulprit(remaining, loaded);
    findings.push(failed('config', loaded, 'fix the variable; .env.example describes each one'));
    faulty.add(culprit).add(nameIn(loaded));
    delete remaining[culprit];
  }
  return { findings, config: loadConfig({}), faulty };
}

/** Returns the error message if the configuration does not load. */
function tryConfig(env: Environment): Config | string {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
}

/**
 * The message begins with the variable. If that variable is not set, another one requires it: the one whose removal
 * changes the message.
 */
function findCulprit(env: Environment, fault: string): string {
  const named = nameIn(fault);
  if (env[named]?.trim()) return named;
  const others = Object.keys(env).filter((name) => env[name]?.trim());
  return others.find((name) => tryConfig({ ...env, [name]: undefined }) !== fault) ?? named;
}

function nameIn(fault: string): string {
  return /^[A-Z][A-Z_]*/.exec(fault)?.[0] ?? '';
}
