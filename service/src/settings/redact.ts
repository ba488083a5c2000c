/** Removes secrets of the environment from a text, wherever they come from. */
import { settings } from './settings.ts';

const secrets = (kind: 'value' | 'password') =>
  Object.keys(settings).filter((name) => settings[name]?.type.secret === kind);
/** Shorter values are not secrets worth protecting, and would match ordinary words. */
const secretLengthMin = 3;

/** The secrets of the environment, the longest first. */
export function listSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  return [
    ...secrets('value').flatMap((name) => (env[name] ?? '').split(',').map((part) => part.trim())),
    ...secrets('password').flatMap((name) =>
      // DATABASE_READ_URLS has several addresses.
      (env[name] ?? '').split(/[\s,]+(?=\w+:\/\/)/).flatMap(passwordsOf),
    ),
  ]
    .filter((secret) => secret.length >= secretLengthMin)
    .sort((one, other) => other.length - one.length);
}

export function redact(text: string, hidden: string[]): string {
  return hidden.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/** The password as written and decoded; if the text is not a valid address, everything between `:` and the last `@`. */
function passwordsOf(address: string): string[] {
  const url = URL.parse(address);
  const written = url
    ? [url.password, url.searchParams.get('password') ?? '']
    : [/:([^@]*)@/.exec(address.replace(/^[a-z]+:\/\//i, ''))?.[1] ?? ''];
  return written.flatMap((password) => [password, decode(password)]);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
