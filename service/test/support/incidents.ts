/** The commands with which docs/operations.md finds causes in a log, as they stand there. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const noJq = spawnSync('jq', ['--version']).error ? 'jq is not installed' : false;

const [, section = ''] = /## Find the cause\n([^]*?)\n## /.exec(
  readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8'),
) ?? [''];
const [failures = '', receivers = ''] = [...section.matchAll(/```sh\n([^]*?)\n```/g)].map(
  ([, command]) => command,
);

/** What fails, how often, and why. */
export const whatFails = (log: string) => find(failures, log);
/** Which receivers do not respond, and why. */
export const whichReceivers = (log: string) => find(receivers, log);

/** The lines of the answer, the most frequent first, with tabs as spaces. */
function find(command: string, log: string): string[] {
  const cwd = mkdtempSync(join(tmpdir(), 'orgdir-test-'));
  try {
    writeFileSync(join(cwd, 'orgdir.log'), `Serving at http://127.0.0.1:3000\n${log}`);
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8' });
    if (status !== 0 || stderr !== '') throw new Error(`${command}\n${stderr}`);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().replaceAll('\t', ' '));
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
