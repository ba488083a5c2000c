/** What the files of the installed package say about it. */
import { readFileSync } from 'node:fs';

/** In the repository the sources are a folder deeper. */
const isSource = import.meta.url.endsWith('.ts');
const packageFolder = new URL(isSource ? '../../' : '../', import.meta.url);

export function packageVersion(): string {
  return String(readJson(new URL('package.json', packageFolder))['version']);
}

/** The address of the service that the package was installed from, which npm keeps next to it; null if it was installed otherwise. */
export function installedFrom(): string | null {
  const lock = readJson(new URL('../../.package-lock.json', packageFolder));
  const packages = Object(lock['packages']) as Record<string, { resolved?: unknown } | undefined>;
  const { resolved } = packages['node_modules/@orgdir/client'] ?? {};
  return (
    /^(https?:\/\/[^?#]*)\/client\/orgdir-client-[^/]*\.tgz$/.exec(String(resolved))?.[1] ?? null
  );
}

function readJson(file: URL): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}
