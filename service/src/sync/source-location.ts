/** Parses where blueprints come from: a file, or an HTTP(S) URL. Pure. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

export type SourceLocation =
  | { kind: 'file'; path: string }
  | { kind: 'url'; url: URL; credentials: string | null };

/** Null for an invalid URL. Text that does not start like a URL is a path. */
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

/** Any other scheme is meant as a URL and must not be taken for a file. */
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

/** Credentials for HTTP basic authentication; undefined if they cannot be decoded. */
function readCredentials({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    return undefined;
  }
}

/** The source as operators see it, without credentials and query, which may contain a token. */
export function locationName(location: SourceLocation): string {
  return location.kind === 'file' ? location.path : location.url.origin + location.url.pathname;
}

/** The source as everyone sees it: a file's name or a URL's host. Paths may be private or contain a token. */
export function publicLocationName(location: SourceLocation): string {
  return location.kind === 'file' ? basename(location.path) : location.url.hostname;
}

/** Distinguishes URLs without storing them. */
export function locationFingerprint(url: URL): string {
  return createHash('sha256').update(url.href).digest('hex');
}
