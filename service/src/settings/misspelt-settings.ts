/** Finds variables that look like settings and are none: a misspelt one would otherwise count as not set. */
import { settings, type Environment, type Fault } from './settings.ts';

type LookAlike = { variable: string; setting: string };
export type Misspelt = {
  /** So close to a setting that is not set that the service must not start without it. */
  faults: Fault[];
  /** May belong to another program. */
  suspects: LookAlike[];
};

/** Kubernetes makes these for each of its services, whatever their names. The value of `*_PORT` is an address there. */
const ofKubernetes = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const addressOfKubernetes = /^(tcp|udp|sctp):\/\//;
/** Shorter names are too close to those of other programs. */
const longNameLength = 8;
/** A name further away is another word. */
const distanceMax = 2;
const prefix = /^ORGDIR_/;

export function findMisspelt(env: Environment): Misspelt {
  const found: Misspelt = { faults: [], suspects: [] };
  for (const [variable, value] of Object.entries(env)) {
    if (!value?.trim() || variable in settings) continue;
    if (ofKubernetes.test(variable) || addressOfKubernetes.test(value)) continue;
    const candidates = Object.keys(settings)
      .map((setting) => ({ setting, distance: measureDistance(variable, setting) }))
      .sort((one, other) => one.distance - other.distance);
    const fault = candidates.find(
      ({ setting, distance }) =>
        distance === 1 && setting.length >= longNameLength && !env[setting]?.trim(),
    );
    const suspect = candidates.find(
      ({ setting, distance }) =>
        distance <= (setting.length >= longNameLength ? distanceMax : 1) ||
        normalize(variable) === normalize(setting),
    );
    if (fault) found.faults.push(toFault(variable, fault.setting));
    else if (suspect) found.suspects.push({ variable, setting: suspect.setting });
  }
  return found;
}

function toFault(variable: string, setting: string): Fault {
  return {
    // What depends on the setting cannot be checked either.
    variables: [variable, setting],
    message: `${variable} is not a setting; rename it to ${setting}, or remove it if it is not meant for this service`,
  };
}

function normalize(name: string): string {
  return name
    .toUpperCase()
    .replace(prefix, '')
    .replaceAll(/[^A-Z0-9]/g, '');
}

/** The number of letters to insert, delete, replace or swap with the next one. */
function measureDistance(one: string, other: string): number {
  // No less, and already too much.
  const difference = Math.abs(one.length - other.length);
  if (difference > distanceMax) return difference;
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows[row] = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const change = one[row - 1] === other[column - 1] ? 0 : 1;
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      rows[row]![column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + change,
        isSwap ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(one.length, other.length);
}
