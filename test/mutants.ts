/**
 * npm run test:mutants -- --seed 1 [--count 20] [--only 'service/src/access/*.ts']: changes one place of the source at a time,
 * in a copy of the checkout, and runs the tests until one fails: first those named as the file, then those that import it and
 * those of its folder, then all. Prints each change that no test notices. Some of them change nothing that anybody could
 * notice; the others lack a test.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';

type Change = { file: string; start: number; end: number; text: string };

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string', default: '20' },
    only: { type: 'string', default: '{service,client}/src/**/*.ts' },
  },
});
const seed = Number(options.seed ?? Date.now() % 2 ** 30);
/** Of one run of the tests: a change may make them wait for ever. */
const timeoutMs = 2_400_000;

const root = join(import.meta.dirname, '..');
const copy = mkdtempSync(join(tmpdir(), 'orgdir-mutants-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
/** Ctrl-C. The run of the tests ends first: its database must not outlive it. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt.abort());

const operators = new Map(
  Object.entries({
    '===': '!==',
    '!==': '===',
    '<': '<=',
    '<=': '<',
    '>': '>=',
    '>=': '>',
    '+': '-',
    '-': '+',
    '*': '/',
    '/': '*',
    '&&': '||',
    '||': '&&',
    '??': '&&',
  }),
);
const words = new Map(
  Object.entries({
    and: 'or',
    or: 'and',
    min: 'max',
    max: 'min',
    least: 'greatest',
    greatest: 'least',
    asc: 'desc',
    desc: 'asc',
    some: 'every',
    every: 'some',
    true: 'false',
    false: 'true',
  }),
);

function changesOf(file: string): Change[] {
  const source = readFileSync(join(root, file), 'utf8');
  const found: Change[] = [];
  const add = (start: number, end: number, text: string) => found.push({ file, start, end, text });
  const addOperator = (left: { end: number }, right: { start: number }, operator: string) => {
    const start = source.indexOf(operator, left.end);
    const text = operators.get(operator);
    if (text !== undefined && start < right.start) add(start, start + operator.length, text);
  };
  const negate = ({ start, end }: { start: number; end: number }) =>
    add(start, end, `!(${source.slice(start, end)})`);
  new Visitor({
    BinaryExpression: ({ left, right, operator }) => addOperator(left, right, operator),
    LogicalExpression: ({ left, right, operator }) => addOperator(left, right, operator),
    IfStatement: ({ test }) => negate(test),
    ConditionalExpression: ({ test }) => negate(test),
    ExpressionStatement: ({ start, end, expression: { type } }) => {
      if (['CallExpression', 'AwaitExpression', 'AssignmentExpression'].includes(type))
        add(start, end, ';');
    },
    Literal: ({ start, end, value }) => {
      if (typeof value === 'boolean') add(start, end, String(!value));
      if (typeof value === 'number') add(start, end, String(value + 1));
    },
    MemberExpression: ({ property }) => {
      const text = property.type === 'Identifier' && words.get(property.name);
      if (text) add(property.start, property.end, text);
    },
    // SQL, and other texts.
    TemplateElement: ({ start, end }) => {
      for (const match of source
        .slice(start, end)
        .matchAll(/(?<=\s)(<=|>=|<|>|[a-z]+)(?=[\s(])/g)) {
        const text = operators.get(match[0]) ?? words.get(match[0]);
        if (text !== undefined)
          add(start + match.index, start + match.index + match[0].length, text);
      }
    },
  }).visit(parseSync(file, source).program);
  return found;
}

/** The same for the same seed, and any as likely as another. */
function pick(index: number): Change {
  const hash = createHash('sha256').update(`${seed} ${index}`).digest();
  const change = changes[hash.readUInt32BE() % changes.length];
  if (!change) throw new Error(`${options.only} matches no source file`);
  return change;
}

/** Files of tests, those that are most likely to notice first. */
function stagesOf(file: string): string[][] {
  const [folder = '', , ...path] = file.split('/');
  const tests = join(folder, 'test');
  const name = basename(file, '.ts');
  const top = path.length > 1 ? path[0] : '';
  const all = globSync(
    ['{service,client,docs,examples/*}/test/**/*.test.ts', 'portal/test/*.test.ts'],
    {
      cwd: root,
    },
  );
  const importers = all.filter((test) =>
    readFileSync(join(root, test), 'utf8').includes(`/${name}.ts'`),
  );
  const matching = (...patterns: string[]) => globSync(patterns, { cwd: root });
  const seen = new Set<string>();
  return [
    matching(
      join(tests, '**', `${name}.test.ts`),
      join(tests, dirname(path.join('/')), '*.test.ts'),
    ),
    [...importers, ...matching(join(tests, top ?? '', '**/*.test.ts'))],
    all,
  ].map((files) => files.filter((test) => !seen.has(test) && seen.add(test)));
}

/** Runs a command in the copy, until it ends or a test fails. Resolves with what failed, or null. */
async function failureOf(command: string, args: string[]): Promise<string | null> {
  // Detached, so that a terminal's Ctrl-C comes once: a second one would end it before its database.
  const child = spawn(command, args, {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let failed: string | undefined;
  const end = (reason: string) => {
    if (failed === undefined) child.kill('SIGINT');
    failed ??= reason;
  };
  const stop = setTimeout(() => end('the tests do not end'), timeoutMs);
  const onInterrupt = () => end('interrupted');
  interrupt.signal.addEventListener('abort', onInterrupt, { once: true });
  createInterface(child.stdout).on('line', (line) => {
    if (/^\s*✖ /.test(line)) end(line.trim());
  });
  const [status] = await once(child, 'close');
  clearTimeout(stop);
  interrupt.signal.removeEventListener('abort', onInterrupt);
  if (interrupt.signal.aborted) process.exit(1);
  return failed ?? (status === 0 ? null : `exit status ${String(status)}`);
}

async function noticedBy(change: Change): Promise<string | null> {
  const types = await failureOf('tsc', ['--checkers', '2']);
  if (types !== null) return 'types';
  for (const tests of stagesOf(change.file)) {
    if (tests.length === 0) continue;
    const failed = await failureOf('node', ['test/run.ts', ...tests]);
    if (failed !== null) return failed;
  }
  return null;
}

cpSync(root, copy, {
  recursive: true,
  verbatimSymlinks: true,
  filter: (path) => !['.git', 'data'].includes(relative(root, path)),
});
const changes = globSync(options.only, { cwd: root }).toSorted().flatMap(changesOf);
const sample = Array.from({ length: Number(options.count) }, (_, index) => pick(index));
console.log(`${sample.length} of ${changes.length} changes, --seed ${seed}`);
const counts = { tests: 0, types: 0, nothing: 0 };
for (const change of sample) {
  const { file, start, end, text } = change;
  const source = readFileSync(join(root, file), 'utf8');
  writeFileSync(join(copy, file), source.slice(0, start) + text + source.slice(end));
  const noticed = await noticedBy(change);
  writeFileSync(join(copy, file), source);
  counts[noticed === null ? 'nothing' : noticed === 'types' ? 'types' : 'tests'] += 1;
  const line = source.slice(0, start).split('\n').length;
  console.log(
    `${noticed === null ? 'NOT NOTICED' : 'noticed'} ${file}:${line} ${source.slice(start, end)} → ${text}`,
  );
  if (noticed !== null) console.log(`  by ${noticed}`);
}
console.log(
  `noticed by tests: ${counts.tests}, by types: ${counts.types}, by nothing: ${counts.nothing}`,
);
