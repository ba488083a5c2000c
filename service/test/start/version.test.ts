import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { runCommand } from '../support/run-command.ts';

const root = new URL('../../../', import.meta.url);
const readJson = async (name: string) => JSON.parse(await readFile(new URL(name, root), 'utf8'));
const { version, workspaces } = await readJson('package.json');
const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' });
const hasGit = git.status === 0 && existsSync(new URL('.git', root));

test('service, client and the other workspaces have one version', async () => {
  const { packages } = await readJson('package-lock.json');
  const folders = Object.keys(packages).filter((name) => !name.includes('node_modules/'));
  assert.ok(folders.length > workspaces.length);
  for (const folder of folders) {
    assert.equal(packages[folder].version, version, `package-lock.json: ${folder}`);
    assert.equal((await readJson(`./${folder}/package.json`)).version, version, folder);
  }
  assert.equal((await readJson('openapi.json')).info.version, version);
});

test(
  'orgdir --version prints the version and the commit',
  { skip: !hasGit && 'not a git clone' },
  async () => {
    const { code, stdout } = await runCommand(['--version'], {});
    assert.equal(code, 0);
    assert.match(
      stdout,
      new RegExp(`^${RegExp.escape(version)} \\(${git.stdout.trim()}(-dirty)?\\)\\n$`),
    );
  },
);

test('without git, the commit is unknown', async () => {
  const { stdout } = await runCommand(['--version'], { PATH: '/nonexistent' });
  assert.equal(stdout, `${version} (unknown)\n`);
});
