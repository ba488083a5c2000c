/** Where blueprints come from: a file, or an HTTP(S) address. Pure. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

export type SourceLocation =
  | { kind: 'file'; path: string }
  | { kind: 'url'; url: URL; credentials: string | null };

/** Null for an address that is none. Whatever does not begin as an address does is a path. */
export function readLocation(text: string): SourceLocation | null {
  if (/^file:/i.test(text)) return fileLocation(text);
  if (!/^https?:/i.test(text)) return isPath(text) ? { kind: 'file', path: text } : null;
  const url = URL.parse(text);
  if (!url || url.hostname === '') return null;
  const credentials = readCredentials(url);
  if (credentials === undefined) return null;
  url.username = '';
  url.password = '';
  url.hash = '';
  return { kind: 'url', url, credentials };
}

/** Another kind of address is meant as one, and would be looked for as a file. */
function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0') && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function fileLocation(text: string): SourceLocation | null {
  try {
    return { kind: 'file', path: fileURLToPath(text) };
  } catch {
    return null;
  }
}

/** As HTTP's basic authentication sends them; undefined where they cannot be read. */
function readCredentials({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    return undefined;
  }
}

/** For operators. Without credentials and without query, which may hold a token. */
export function locationName(location: SourceLocation): string {
  return location.kind === 'file' ? location.path : location.url.origin + location.url.pathname;
}

/** For everyone: a file's name, an address's host. Paths may hold what is private, or a token. */
export function publicLocationName(location: SourceLocation): string {
  return location.kind === 'file' ? basename(location.path) : location.url.hostname;
}

/** Tells one address from another without storing it. */
export function locationFingerprint(url: URL): string {
  return createHash('sha256').update(url.href).digest('hex');
}
