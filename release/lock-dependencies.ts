/**
 * Takes the service's packages out of the clone's lock file, without asking the registry: an npm-shrinkwrap.json, which
 * `npm ci` keeps to in an unpacked release, and exact versions for package.json. `npm install` of a tarball ignores the
 * npm-shrinkwrap.json in it, so package.json names all packages, also those that only other packages need.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Versions = Record<string, string>;
type Locked = {
  version: string;
  dependencies?: Versions;
  optionalDependencies?: Versions;
  peerDependencies?: Versions;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  [field: string]: unknown;
};
type Packages = Record<string, Locked>;

const workspace = 'service';
/** The release contains it. */
const client = '@orgdir/client';

export function lockDependencies<Manifest extends { name: string; version: string }>(
  root: string,
  manifest: Manifest,
) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Packages;
  };
  const service = packages[workspace];
  if (!service) throw new Error(`package-lock.json has no ${workspace}`);
  const { [client]: _, ...wanted } = service.dependencies ?? {};
  const required = collect(packages, Object.keys(wanted));
  const optional = collect(packages, Object.keys(service.optionalDependencies ?? {}));
  const locked: Packages = {};
  for (const path of [...required.union(optional)].sort())
    add(locked, path, toLocked(packages[path] as Locked, !required.has(path)));
  const complete = {
    ...manifest,
    dependencies: versionsOf(locked, false),
    optionalDependencies: versionsOf(locked, true),
  };
  const { name, version } = manifest;
  const shrinkwrap = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': complete, ...locked },
  };
  return { manifest: complete, shrinkwrap };
}

/** The paths of these packages of the service, and of all that they need. */
function collect(packages: Packages, names: string[]): Set<string> {
  const found = new Set<string>();
  const waiting = names.map((name) => find(packages, workspace, name));
  for (const path of waiting) {
    if (path === null || found.has(path)) continue;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[
      path
    ] as Locked;
    const peers = Object.keys(peerDependencies ?? {}).filter(
      (name) => !peerDependenciesMeta?.[name]?.optional,
    );
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const needed = find(packages, path, name);
      if (needed === null && !optionalDependencies?.[name])
        throw new Error(`${path} lacks ${name}`);
      waiting.push(needed);
    }
  }
  return found;
}

/** As Node.js does: in the package itself, then in each folder above. */
function find(packages: Packages, from: string, name: string): string | null {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = `${folder}${folder && '/'}node_modules/${name}`;
    if (packages[path]) return path;
    if (folder === '') return null;
  }
}

function parentOf(path: string): string {
  const end = path.lastIndexOf('/node_modules/');
  return end === -1 ? '' : path.slice(0, end);
}

/** Packages in the workspace's own folder move to the top. */
function add(locked: Packages, path: string, entry: Locked): void {
  const place = path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  if (locked[place]) throw new Error(`${place} is needed in two versions`);
  locked[place] = entry;
}

/** Without what is true of the clone alone. */
function toLocked(entry: Locked, isOptional: boolean): Locked {
  const { dev: _dev, devOptional: _devOptional, peer: _peer, optional: _optional, ...rest } = entry;
  return isOptional ? { ...rest, optional: true } : rest;
}

/** The few packages that are needed in a second version are not at the top, and are left to npm. */
function versionsOf(locked: Packages, isOptional: boolean): Versions {
  const top = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/;
  const entries = Object.entries(locked).flatMap(([path, { version, optional = false }]) => {
    const name = top.exec(path)?.[1];
    return name && optional === isOptional ? [[name, version] as const] : [];
  });
  return Object.fromEntries(entries);
}
