/**
 * Writes the files of the npm package `orgdir` into a folder. They have the places that they have in the clone, so that
 * the code finds them by the same paths; sources are JavaScript.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { lockDependencies } from './lock-dependencies.ts';

export type Stage = { root: string; stage: string; version: string; commit: string };

/** Files of the commit. */
const committed = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  '.env.example',
  'demo/*.ndjson',
  'docs/*.md',
  'client/src',
  'service/bin',
  'service/migrations',
  'service/schema.sql',
  'service/src',
];
const built = ['portal/dist', 'docs/dist', 'client/download'];
const command = 'service/bin/orgdir.js';

export function stagePackage({ root, stage, version, commit }: Stage): void {
  for (const file of listCommitted(root)) stageFile(root, stage, file);
  for (const folder of built) cpSync(join(root, folder), join(stage, folder), { recursive: true });
  const { manifest, shrinkwrap } = lockDependencies(root, {
    name: 'orgdir',
    version,
    description: readManifest(root, 'service').description,
    license: readManifest(root, 'service').license,
    type: 'module',
    bin: { orgdir: command },
    engines: readManifest(root, 'service').engines,
  });
  writeJson(join(stage, 'package.json'), { ...manifest, gitHead: commit });
  writeJson(join(stage, 'npm-shrinkwrap.json'), shrinkwrap);
  setModes(stage);
}

/** A clone may have other files too. */
function listCommitted(root: string): string[] {
  const names = execFileSync('git', ['ls-files', '-z', '--', ...committed], {
    cwd: root,
    encoding: 'utf8',
  });
  return names.split('\0').filter((name) => name !== '');
}

function stageFile(root: string, stage: string, file: string): void {
  const target = join(stage, file.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  const content = readFileSync(join(root, file));
  const isSource = /\.(ts|js)$/.test(file);
  writeFileSync(target, isSource ? toJavaScript(content.toString(), file) : content);
}

/** Stripping keeps lines and columns, so stack traces point to the same places as in the clone. */
function toJavaScript(source: string, file: string): string {
  const stripped = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  const client = relative(dirname(file), 'client/src');
  const code = stripped
    .replaceAll(/(from |import\()'(\.[^']+)\.ts'/g, "$1'$2.js'")
    .replaceAll(/'@orgdir\/client\/(command\/[a-z-]+)'/g, `'${client}/$1.js'`);
  const left = /'\.[^'\n]*\.ts'/.exec(code);
  if (left) throw new Error(`${file} still refers to ${left[0]}`);
  return code;
}

/** The same whatever the umask. */
function setModes(stage: string): void {
  for (const entry of readdirSync(stage, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
  chmodSync(join(stage, command), 0o755);
}

function readManifest(root: string, folder: string) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

function writeJson(file: string, content: object): void {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
