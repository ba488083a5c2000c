/**
 * Does what the Dockerfile says without a container engine: each stage becomes a folder, with its copies and its
 * commands, and what the last one would be run with is printed as JSON. What .dockerignore hides cannot be copied.
 *   node .ci/lay-out-image.ts FOLDER
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, matchesGlob } from 'node:path';

type Stage = {
  folder: string;
  environment: Record<string, string>;
  user: string;
  entrypoint: string[];
  command: string[];
  healthcheck: string[];
};

const clone = join(import.meta.dirname, '..');
const [target] = process.argv.slice(2);
if (!target) throw new Error('say the folder to lay the image out in');
const shown = readFileSync(join(clone, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

const stages = new Map<string, Stage>();
let stage: Stage | undefined;
for (const { word, rest } of instructions(readFileSync(join(clone, 'Dockerfile'), 'utf8'))) {
  if (word === 'FROM') {
    const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'last';
    stage = {
      folder: join(target, name),
      environment: {},
      user: 'root',
      entrypoint: [],
      command: [],
      healthcheck: [],
    };
    stages.set(name, stage);
    continue;
  }
  if (!stage) throw new Error(`${word} stands before FROM`);
  carryOut(stage, word, rest);
}
const last = stages.get('last');
if (!last) throw new Error('the last stage has a name; it should have none');
const { folder, environment, user, entrypoint, command, healthcheck } = last;
console.log(
  JSON.stringify({ folder, environment, user, run: [...entrypoint, ...command], healthcheck }),
);

function carryOut(into: Stage, word: string, rest: string): void {
  if (word === 'WORKDIR') mkdirSync(into.folder, { recursive: true });
  else if (word === 'ENV') Object.assign(into.environment, Object.fromEntries([rest.split('=')]));
  else if (word === 'COPY') copy(into, rest);
  else if (word === 'RUN') run(into, rest);
  else if (word === 'USER') into.user = rest;
  else if (word === 'ENTRYPOINT') into.entrypoint = JSON.parse(rest) as string[];
  else if (word === 'CMD') into.command = JSON.parse(rest) as string[];
  else if (word === 'HEALTHCHECK')
    into.healthcheck = JSON.parse(rest.slice(rest.indexOf('['))) as string[];
  else if (word !== 'EXPOSE') throw new Error(`nobody has told this script of ${word}`);
}

function copy(into: Stage, rest: string): void {
  const words = rest.split(/\s+/);
  const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
  const paths = from ? words.slice(1) : words;
  const destination = join(into.folder, paths.at(-1) ?? '');
  const intoFolder = paths.length > 2 || paths.at(-1)?.endsWith('/');
  const sources = paths.slice(0, -1).flatMap((path) => (from ? [path] : expand(path)));
  if (sources.length > 1 && !intoFolder) throw new Error(`${rest} copies several files into one`);
  for (const path of sources) {
    const source = from
      ? join(stages.get(from)?.folder ?? '', path.replace(/^\/app/, ''))
      : join(clone, path);
    if (!from && !shown.some((pattern) => matchesGlob(path, `${pattern}{,/**}`)))
      throw new Error(`.dockerignore hides ${path}, which the Dockerfile copies`);
    if (!existsSync(source)) throw new Error(`there is no ${path} to copy`);
    const isFolder = statSync(source).isDirectory();
    cpSync(source, intoFolder && !isFolder ? join(destination, basename(path)) : destination, {
      recursive: true,
      // Links between workspaces point to folders that are copied too.
      verbatimSymlinks: true,
    });
  }
}

/** The files of a pattern; one that finds nothing stays as it is, and cannot be copied. */
function expand(pattern: string): string[] {
  const found = globSync(pattern, { cwd: clone }).sort();
  return found.length > 0 ? found : [pattern];
}

function run(into: Stage, line: string): void {
  const { status } = spawnSync('sh', ['-c', line], { cwd: into.folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`RUN ${line} ended with ${status}`);
}

/** With continued lines joined, and without comments. */
function* instructions(text: string): Generator<{ word: string; rest: string }> {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  for (const line of lines.filter((each) => each.trim() !== '')) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    yield { word, rest };
  }
}
