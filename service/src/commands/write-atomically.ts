/**
 * Writes a file, or a folder of files, that appears only when it is complete: it is written under a temporary name,
 * synced to disk and renamed. Only its owner may read it.
 */
import { rmSync } from 'node:fs';
import { link, mkdir, open, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { invalid } from '../errors.ts';
import { exists, unfinishedName } from '../database/unfinished-files.ts';

export type Write = (content: string | Buffer) => Promise<void>;

const isThere = (file: string) =>
  invalid({ path: 'file', message: `${file} exists; name a new one` });

/** A device or a pipe is written directly, because it cannot be renamed. `replaces`: an existing file, if there is one. */
export async function writeFileAtomically<T>(
  file: string,
  act: (write: Write) => Promise<T>,
  { replaces = true } = {},
): Promise<T> {
  const target = await reportPathErrors(file, () => findTarget(file));
  if (!replaces && (await exists(target.path))) throw isThere(file);
  if (target.kind === 'stream') return reportPathErrors(file, () => writeFile(target.path, act));
  return writeAside(target.path, file, async (unfinished) => {
    const result = await writeFile(unfinished, act);
    if (replaces) await rename(unfinished, target.path);
    else await renameToNew(unfinished, target.path, file);
    return result;
  });
}

/** `act` writes each file of the folder. A folder that is not empty is refused. */
export async function writeFolderAtomically<T>(
  folder: string,
  act: (
    writeInto: <R>(name: string, act: (write: Write) => Promise<R>) => Promise<R>,
  ) => Promise<T>,
): Promise<T> {
  const path = resolve(folder);
  await reportPathErrors(folder, () => requireEmpty(path, folder));
  return writeAside(path, folder, async (unfinished) => {
    await mkdir(unfinished, { mode: 0o700 });
    const result = await act((name, write) => writeFile(join(unfinished, name), write));
    // Renaming replaces an empty folder, but on some systems only if it was removed first.
    await rmdir(path).catch(() => {});
    await rename(unfinished, path);
    return result;
  });
}

/** The reader has closed standard output. */
export class PipeClosedError extends Error {
  override readonly name = 'PipeClosedError';
}

/** Resolves once the reader has taken the text. Throws a `PipeClosedError` if the reader is gone. */
export const writeToStandardOutput: Write = (content) =>
  new Promise((done, fail) => {
    process.stdout.write(content, (error) => {
      if (!error) return done();
      const gone = (error as NodeJS.ErrnoException).code === 'EPIPE';
      fail(gone ? new PipeClosedError('nobody reads any more') : error);
    });
  });

/** Unlike a rename, never replaces a file. */
async function renameToNew(unfinished: string, path: string, shown: string): Promise<void> {
  const isTaken = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EEXIST';
  try {
    await link(unfinished, path);
  } catch (error) {
    if (isTaken(error)) throw isThere(shown);
    // Some file systems have no links, such as FAT and those of some networks. There an empty file takes the name first.
    const taken = await open(path, 'wx').catch((fault: unknown) => {
      throw isTaken(fault) ? isThere(shown) : fault;
    });
    await taken.close();
    await rename(unfinished, path).catch(async (fault: unknown) => {
      await rm(path);
      throw fault;
    });
  }
}

async function writeAside<T>(
  path: string,
  shown: string,
  act: (unfinished: string) => Promise<T>,
): Promise<T> {
  const unfinished = unfinishedName(path);
  // A signal handler ends the process with `exit`, so the unfinished file is removed here.
  const remove = () => rmSync(unfinished, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await reportPathErrors(shown, () => act(unfinished));
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    process.off('exit', remove);
  }
}

type Target = { kind: 'file' | 'stream'; path: string };

async function findTarget(file: string): Promise<Target> {
  const path = resolve(file);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (!found) return { kind: 'file', path: join(await realpath(dirname(path)), basename(path)) };
  if (found.isDirectory()) throw invalid({ path: 'file', message: `${file} is a folder` });
  return { kind: found.isFile() ? 'file' : 'stream', path: await realpath(path) };
}

async function requireEmpty(path: string, shown: string): Promise<void> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (names.length > 0)
    throw invalid({
      path: 'folder',
      message: `${shown} is not empty; name one that does not exist yet`,
    });
}

async function writeFile<T>(path: string, act: (write: Write) => Promise<T>): Promise<T> {
  const handle = await open(path, 'w', 0o600);
  try {
    const result = await act(async (content) => {
      await handle.appendFile(content);
    });
    if ((await handle.stat()).isFile()) await handle.sync();
    return result;
  } finally {
    await handle.close();
  }
}

/** Only the operator can fix a file system error, so it becomes one line without a stack. */
async function reportPathErrors<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw invalid({ path: 'file', message: `${path} cannot be written (${code})` });
  }
}
