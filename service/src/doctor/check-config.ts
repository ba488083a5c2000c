import { loadConfig, type Config } from '../config.ts';
import { StartError } from '../errors.ts';
import { failed, ok, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type CheckedConfig = {
  findings: Finding[];
  /** As if the variables that are wrong had not been set. */
  config: Config;
  /** The names of those variables: what depends on them is not looked at. */
  faulty: ReadonlySet<string>;
};

/** More variables than the service has. */
const faultsMax = 100;

/** Names every variable that is wrong: the one that stops the start is taken out, until it would start. */
export function checkConfig(env: Environment): CheckedConfig {
  const left: Record<string, string | undefined> = { ...env };
  const findings: Finding[] = [];
  const faulty = new Set<string>();
  while (findings.length < faultsMax) {
    const loaded = tryConfig(left);
    if (typeof loaded !== 'string') {
      if (findings.length === 0) findings.push(ok('config', 'every variable can be read'));
      return { findings, config: loaded, faulty };
    }
    const culprit = findCulprit(left, loaded);
    findings.push(
      failed('config', loaded, 'mend the variable; .env.example says what each may hold'),
    );
    faulty.add(culprit).add(nameIn(loaded));
    delete left[culprit];
  }
  return { findings, config: loadConfig({}), faulty };
}

/** Its fault, where it cannot be read. */
function tryConfig(env: Environment): Config | string {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
}

/** A fault begins with its variable. Where that one is missing, another asks for it: the one without which all would be different. */
function findCulprit(env: Environment, fault: string): string {
  const named = nameIn(fault);
  if (env[named]?.trim()) return named;
  const others = Object.keys(env).filter((name) => env[name]?.trim());
  return others.find((name) => tryConfig({ ...env, [name]: undefined }) !== fault) ?? named;
}

function nameIn(fault: string): string {
  return /^[A-Z][A-Z_]*/.exec(fault)?.[0] ?? '';
}
