/**
 * npm run measure:structure: measures the length of functions and files per package and in total, import cycles, and
 * duplicated code. `-- --root DIR` measures another checkout, so that two commits can be compared.
 *
 * Lines of code are those that have more than a comment. A function's lines are from its first to its last line. A nested function counts separately and within its parent.
 * Arrow functions on one line and generated files are left out. Duplicated code is a run of at least six lines that
 * occurs elsewhere too, ignoring indentation, imports, comments, and lines with only punctuation. Type-only imports
 * count towards cycles, dynamic imports do not.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  parseSync,
  Visitor,
  type ArrowFunctionExpression,
  type EcmaScriptModule,
  type Function as FunctionNode,
  type Node,
  type Program,
} from 'oxc-parser';
import { align, quantile } from '../harness/figures.ts';

const packages = ['service', 'portal', 'client'];
/** Only their size is measured: repetition makes a test readable. */
const tests = [
  'service/test',
  'portal/test',
  'client/test',
  'docs/test',
  'faults',
  'scale',
  'harness',
];
const duplicateLines = 6;
const listed = 10;

type Place = { file: string; line: number; lines: number };
type FunctionPlace = Place & { name: string };
type Duplicate = Place & { other: string };
type Source = {
  file: string;
  lines: number;
  code: number;
  functions: FunctionPlace[];
  imports: string[];
  /** The lines that are compared with those of other files. */
  comparable: { line: number; text: string }[];
};

const { values: options } = parseArgs({
  options: { root: { type: 'string', default: join(import.meta.dirname, '..') } },
});
const sources = packages.flatMap((name) => readFolder(options.root, `${name}/src`));
const functions = sources.flatMap((each) => each.functions);
printTable(sources);
print(
  'tests',
  tests.map((folder) => {
    const of = readFolder(options.root, folder);
    return `${sum(of.map(({ code }) => code))} lines of code in ${of.length} files: ${folder}`;
  }),
);
print(
  'longest functions',
  longest(functions).map(({ lines, file, line, name }) => `${lines} ${file}:${line} ${name}`),
);
print(
  'longest files',
  longest(sources).map(({ lines, file }) => `${lines} ${file}`),
);
print(
  'import cycles',
  findCycles(sources).map((cycle) => cycle.join(', ')),
);
print(
  'duplicated places',
  findDuplicates(sources).map(
    ({ lines, file, line, other }) => `${lines} ${file}:${line} as in ${other}`,
  ),
);

function readFolder(root: string, folder: string): Source[] {
  return globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root })
    .filter((file) => !readFileSync(join(root, file), 'utf8').startsWith('/** Generated '))
    .toSorted()
    .map((file) => readSource(root, file));
}

function readSource(root: string, file: string): Source {
  const text = readFileSync(join(root, file), 'utf8');
  const { program, module, comments } = parseSync(file, text);
  const lineOf = createLineFinder(text);
  return {
    file,
    lines: lineOf(text.length - 1),
    code: blank(text, comments)
      .split('\n')
      .filter((each) => each.trim() !== '').length,
    functions: findFunctions(program, file, lineOf),
    imports: importsOf(module).map((to) => join(dirname(file), to)),
    comparable: comparableLines(blank(text, [...module.staticImports, ...comments])),
  };
}

/** Returns a function from an offset in the text to its line, from 1. */
function createLineFinder(text: string): (offset: number) => number {
  const lines = new Uint32Array(text.length + 1);
  for (let offset = 0, line = 1; offset <= text.length; offset += 1) {
    lines[offset] = line;
    if (text[offset] === '\n') line += 1;
  }
  return (offset) => lines[offset] ?? 0;
}

function findFunctions(
  program: Program,
  file: string,
  lineOf: (offset: number) => number,
): FunctionPlace[] {
  const found: FunctionPlace[] = [];
  const names = new Map<object, string>();
  function name(value: object | null, key: Node): void {
    if (value && key.type === 'Identifier') names.set(value, key.name);
  }
  function add(node: FunctionNode | ArrowFunctionExpression): void {
    const line = lineOf(node.start);
    const lines = lineOf(node.end) - line + 1;
    if (node.type === 'ArrowFunctionExpression' && lines === 1) return;
    found.push({ name: node.id?.name ?? names.get(node) ?? 'anonymous', file, line, lines });
  }
  new Visitor({
    VariableDeclarator: ({ id, init }) => name(init, id),
    Property: ({ key, value }) => name(value, key),
    MethodDefinition: ({ key, value }) => name(value, key),
    FunctionDeclaration: add,
    FunctionExpression: add,
    ArrowFunctionExpression: add,
  }).visit(program);
  return found;
}

function importsOf({ staticImports, staticExports }: EcmaScriptModule): string[] {
  const from = staticExports.flatMap(({ entries }) => entries.map((each) => each.moduleRequest));
  return [...staticImports.map((each) => each.moduleRequest), ...from].flatMap((request) =>
    request?.value.startsWith('.') ? [request.value] : [],
  );
}

function blank(text: string, leftOut: { start: number; end: number }[]): string {
  let kept = text;
  for (const { start, end } of leftOut)
    kept = kept.slice(0, start) + kept.slice(start, end).replace(/./g, ' ') + kept.slice(end);
  return kept;
}

function comparableLines(text: string): Source['comparable'] {
  return text
    .split('\n')
    .map((each, index) => ({ line: index + 1, text: each.trim() }))
    .filter((each) => /\w/.test(each.text));
}

/** The groups of files that import each other, directly or through others. */
function findCycles(all: Source[]): string[][] {
  const imports = new Map(all.map((each) => [each.file, each.imports]));
  const reached = new Map(all.map(({ file }) => [file, reach(file)]));
  function reach(start: string): Set<string> {
    const seen = new Set(imports.get(start));
    for (const file of seen) for (const to of imports.get(file) ?? []) seen.add(to);
    return seen;
  }
  const cycles = all
    .filter(({ file }) => reached.get(file)?.has(file))
    .map(({ file }) =>
      all
        .map((each) => each.file)
        .filter((each) => reached.get(file)?.has(each) && reached.get(each)?.has(file)),
    );
  return [...new Map(cycles.map((cycle) => [cycle.join(), cycle])).values()];
}

/** Every occurrence of a duplicated run of lines, with another occurrence. */
function findDuplicates(all: Source[]): Duplicate[] {
  const places = new Map<string, string[]>();
  const windows = all.flatMap(({ file, comparable }) =>
    comparable.slice(duplicateLines - 1).map((last, start) => {
      const run = comparable.slice(start, start + duplicateLines);
      const key = run.map((each) => each.text).join('\n');
      const first = run[0]?.line ?? 0;
      const place = `${file}:${first}`;
      places.set(key, [...(places.get(key) ?? []), place]);
      return { file, first, last: last.line, place, key };
    }),
  );
  const found: Duplicate[] = [];
  for (const { file, first, last, place, key } of windows) {
    const other = places.get(key)?.find((each) => each !== place);
    if (other === undefined) continue;
    const previous = found.at(-1);
    if (previous?.file === file && first <= previous.line + previous.lines)
      previous.lines = last - previous.line + 1;
    else found.push({ file, line: first, lines: last - first + 1, other });
  }
  return found;
}

function printTable(all: Source[]): void {
  const header = ['', 'files', 'lines', 'code', 'functions', 'median', '90 %', 'longest'];
  const more = ['file median', 'longest', 'cycles', 'duplicates'];
  const rows = packages.map((name) =>
    measure(
      name,
      all.filter(({ file }) => file.startsWith(`${name}/`)),
    ),
  );
  for (const line of align([[...header, ...more], ...rows, measure('total', all)]))
    console.log(line);
}

function measure(name: string, of: Source[]): string[] {
  const functionLines = of.flatMap((each) => each.functions.map(({ lines }) => lines));
  const fileLines = of.map(({ lines }) => lines);
  return [
    name,
    of.length,
    sum(fileLines),
    sum(of.map(({ code }) => code)),
    functionLines.length,
    quantile(functionLines, 0.5),
    quantile(functionLines, 0.9),
    Math.max(...functionLines),
    quantile(fileLines, 0.5),
    Math.max(...fileLines),
    findCycles(of).length,
    findDuplicates(of).length,
  ].map(String);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function longest<T extends { lines: number }>(places: T[]): T[] {
  return places.toSorted((a, b) => b.lines - a.lines).slice(0, listed);
}

function print(title: string, lines: string[]): void {
  console.log(`\n${title}: ${lines.length === 0 ? 'none' : ''}`);
  for (const line of lines) console.log(`  ${line}`);
}
