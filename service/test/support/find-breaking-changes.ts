/** Compares two versions of an OpenAPI document with `redocly diff`, and adds what it lets pass. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openApiFile, redoclyEnv, rootProgram } from './openapi-file.ts';

const run = promisify(execFile);
const config = fileURLToPath(new URL('redocly.yaml', openApiFile));

type Side = { pointer: string; value?: unknown };
type Change = {
  path: string;
  /** What changed of a modified node. */
  property?: string;
  impact: 'major' | 'minor' | 'patch';
  verdicts: { ruleId: string; message: string }[];
  base?: Side;
  revision?: Side;
};

/**
 * Returns one line per change that can break a client, empty if there is none. A state may gain values, which clients
 * accept (docs/reference/README.md#versioning), and loses none.
 */
export async function findBreakingChanges(base: object, revision: object): Promise<string[]> {
  const lost: string[] = [];
  const grown = withStatesOf(revision, base, '', lost) as Document;
  const changes = await compare(grown, withParametersOf(grown, revision));
  return [
    ...lost,
    ...changes.flatMap((change) => describe(change).map((message) => `${change.path}: ${message}`)),
  ];
}

type Node = { enum?: unknown[]; 'x-extensible-enum'?: unknown[]; [key: string]: unknown };

/** `base` with the states of `revision`, and in `lost` those that it no longer has. */
function withStatesOf(revision: unknown, base: unknown, path: string, lost: string[]): unknown {
  if (typeof base !== 'object' || base === null || Array.isArray(base)) return base;
  const { enum: values, ...rest } = base as Node;
  const after = (revision ?? {}) as Node;
  const states = after['x-extensible-enum'];
  const before = values ?? rest['x-extensible-enum'];
  if (Array.isArray(states) && before) {
    const gone = before.filter((value) => value !== null && !states.includes(value));
    if (gone.length > 0) lost.push(`${path}: the states lost ${gone.join(', ')}`);
    return { ...rest, 'x-extensible-enum': states };
  }
  return Object.fromEntries(
    Object.entries(base).map(([key, value]) => [
      key,
      withStatesOf(after[key], value, `${path}/${key}`, lost),
    ]),
  );
}

type ParameterSchema = { type?: unknown; pattern?: string; items?: object };
type Parameter = { name: string; in: string; schema?: ParameterSchema };
type Document = { paths?: Record<string, Record<string, { parameters?: Parameter[] }>> };

/**
 * `revision` with the parameters of `base` in its order, because the order says nothing, and as they were where they only
 * accept more: a text that may be repeated, or a list of names with further names.
 */
function withParametersOf(base: Document, revision: Document): Document {
  const result = structuredClone(revision);
  for (const [path, operations] of Object.entries(result.paths ?? {}))
    for (const [method, operation] of Object.entries(operations)) {
      const before = base.paths?.[path]?.[method]?.parameters ?? [];
      const after = operation.parameters ?? [];
      const same = (one: Parameter) => (other: Parameter) =>
        one.name === other.name && one.in === other.in;
      const kept = before.flatMap((old) => {
        const now = after.find(same(old));
        return now ? [asBefore(old, now)] : [];
      });
      const added = after.filter((now) => !before.some(same(now)));
      if (after.length > 0) operation.parameters = [...kept, ...added];
    }
  return result;
}

function asBefore(old: Parameter, now: Parameter): Parameter {
  if (!old.schema || !now.schema) return now;
  const { pattern } = now.schema;
  if (namesIn(old.schema.pattern).some((name) => !namesIn(pattern).includes(name))) return now;
  const schema = { ...now.schema } as Record<string, unknown>;
  if (namesIn(pattern).length > 0) schema['pattern'] = old.schema.pattern;
  const isRepeated = old.schema.type === 'string' && now.schema.type === 'array';
  return { ...now, schema: isRepeated ? now.schema.items : schema } as Parameter;
}

/** Those of a pattern that `facetsQuery` made. */
function namesIn(pattern = ''): string[] {
  return /^\^\((.+)\)\(,\(\1\)\)\*\$$/.exec(pattern)?.[1]?.split('|') ?? [];
}

async function compare(base: object, revision: object): Promise<Change[]> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-diff-'));
  const report = join(folder, 'report.json');
  try {
    await writeFile(join(folder, 'base.json'), JSON.stringify(base));
    await writeFile(join(folder, 'revision.json'), JSON.stringify(revision));
    const format = ['--format=json', `--output=${report}`, '--fail-on=none'];
    await run(
      rootProgram('redocly'),
      ['diff', 'base.json', 'revision.json', `--config=${config}`, ...format],
      { cwd: folder, env: redoclyEnv },
    );
    return (JSON.parse(await readFile(report, 'utf8')) as { changes: Change[] }).changes;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function describe(change: Change): string[] {
  const found = change.verdicts.map(({ message }) => message);
  if (found.length === 0 && change.property === 'default')
    return [`the default changed from ${text(change.base)} to ${text(change.revision)}`];
  const lost = lostValues(change);
  if (found.length === 0 && lost.length > 0) return [`the list lost ${lost.join(', ')}`];
  return found;
}

/** A response may send fewer values without breaking its readers, but version 1 takes none away. */
function lostValues({ property, base, revision }: Change): string[] {
  if (property !== 'enum' || !Array.isArray(base?.value)) return [];
  const kept = Array.isArray(revision?.value) ? revision.value : [];
  return base.value.filter((value) => !kept.includes(value)).map(String);
}

function text(side: Side | undefined): string {
  return JSON.stringify(side?.value) ?? 'none';
}
