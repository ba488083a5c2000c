/** The command as npx runs it, from the address at which a service serves the package. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { test } from 'node:test';
import { announce, put } from '../../../service/test/support/directory.ts';
import { startTestService } from '../../../service/test/support/service.ts';
import { startCommand } from '../../../service/test/support/command.ts';
import { version } from '../../../service/src/runtime/version.ts';
import { temporaryFolder } from '../support/client-command.ts';
import { findMachineNode } from '../support/machine-node.ts';

const service = await startTestService({ worker: true });
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const npx = realpathSync(execFileSync('which', ['npx'], { encoding: 'utf8' }).trim());

const machineNode = findMachineNode();
const nodes: [string, string | null][] = [
  ['the current Node.js', process.execPath],
  ['the Node.js of this machine', machineNode],
];
for (const [name, node] of nodes)
  test(
    `npx runs it on ${name}, and it knows its service`,
    { skip: node ? false : 'none, or the same version' },
    async () => {
      const home = await temporaryFolder();
      const tarball = `${service.url}/client/orgdir-client-${version}.tgz`;
      const command = startCommand(['--yes', tarball, 'listen', '--json'], {
        command: npx,
        node: node ?? '',
        input: '',
        env: {
          PATH: [dirname(node ?? ''), process.env['PATH']].join(delimiter),
          HOME: home,
          npm_config_cache: `${home}/cache`,
          npm_config_update_notifier: 'false',
          ORGDIR_API_KEY: service.key,
        },
      });
      await command.waitFor(/"type":"listening".*\n/);
      await announce(service.database);
      await command.waitFor(/"type":"delivery".*"verified":true.*\n/);
      command.signal('SIGINT', 'group');
      await command.ended;
      assert.equal(command.stderr, '');
    },
  );
