/** The release after this one: a copy of the service with migrations of the test's own. */
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { locksFile, type MigrationLocks } from '../../src/database/apply-migration.ts';
import { runCommand } from './command.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

type NextRelease = Pick<typeof import('../../src/database/migrate.ts'), 'migrate'> & {
  /** Runs its `orgdir`. */
  run: (words: string[], env: Record<string, string>) => ReturnType<typeof runCommand>;
};

/** `migrations`: their texts by name. `locks`: what `npm run schema` would write for them. */
export async function makeNextRelease(
  migrations: Record<string, string>,
  locks: Record<string, MigrationLocks> = {},
): Promise<NextRelease> {
  const copy = await mkdtemp(join(tmpdir(), 'orgdir-next-'));
  after(() => rm(copy, { recursive: true }));
  for (const name of ['package.json', 'service/package.json', 'service/bin', 'service/src'])
    await cp(join(root, name), join(copy, name), { recursive: true });
  await cp(join(root, 'service/migrations'), join(copy, 'service/migrations'), { recursive: true });
  for (const name of ['node_modules', 'service/node_modules'])
    await symlink(join(root, name), join(copy, name));
  for (const [name, text] of Object.entries(migrations))
    await writeFile(join(copy, 'service/migrations', name), text);
  await writeFile(join(copy, locksFile.pathname.slice(root.length)), JSON.stringify(locks));
  const { migrate } = (await import(
    pathToFileURL(join(copy, 'service/src/database/migrate.ts')).href
  )) as NextRelease;
  const command = join(copy, 'service/bin/orgdir.js');
  // Its own would be in the `node_modules` of this clone, and stay there.
  const cache = { NODE_COMPILE_CACHE: join(copy, 'cache') };
  return {
    migrate,
    run: (words, env) => runCommand(words, { env: { ...cache, ...env }, command }),
  };
}
