/** Validates values against a schema and describes what is wrong. Requests, imports and events all use this. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { closestMatch } from 'leven';
import type { Issue } from '../errors.ts';
import { cutText } from './cut-text.ts';
import { parseTime } from './parse-time.ts';
import { patternMessages, uuidPattern } from './patterns.ts';

type Validation<T> = { ok: true; value: T } | { ok: false; issues: Issue[] };
export type Validator<T> = (value: unknown, path: string) => Validation<T>;

/** A body of 64 KiB can have thousands of issues. */
export const issuesMax = 20;
/** No schema is nested this deep. */
const depthMax = 16;
const nameLengthMax = 80;

const ajv = new Ajv2020({
  allErrors: true,
  // Errors have the schema of their object, for its names.
  verbose: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  // For openapi.json alone: `state` in `shapes.ts`.
  keywords: ['x-extensible-enum'],
});
ajvFormats.default(ajv);
// The format of `ajv-formats` also accepts `urn:uuid:`, which PostgreSQL rejects.
ajv.addFormat('uuid', uuidPattern);
ajv.addFormat('date-time', (text) => parseTime(text) !== null);

/** The validator fills in defaults and changes nothing else. It is compiled when it is first used: a start needs few of them. */
export function createValidator<T extends TSchema>(schema: T): Validator<Static<T>> {
  let matches: ValidateFunction | undefined;
  return (value, path) => {
    const textIssue = findBadText(value, path, 0);
    if (textIssue) return { ok: false, issues: [textIssue] };
    matches ??= ajv.compile(schema);
    if (matches(value)) return { ok: true, value: value as Static<T> };
    return { ok: false, issues: describe(matches.errors ?? [], path) };
  };
}

/** PostgreSQL stores no NUL, and UTF-8 has no lone surrogates. */
function findBadText(value: unknown, path: string, depth: number): Issue | null {
  if (typeof value === 'string') return badText(value, path);
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= depthMax)
    return { path, message: `must not be nested deeper than ${depthMax} levels` };
  for (const [name, field] of Object.entries(value)) {
    const issue = badText(name, path) ?? findBadText(field, `${path}.${name}`, depth + 1);
    if (issue) return issue;
  }
  return null;
}

function badText(text: string, path: string): Issue | null {
  if (text.includes('\0')) return { path, message: 'must not contain the character U+0000' };
  if (!text.isWellFormed())
    return { path, message: 'must be valid Unicode, without lone surrogates' };
  return null;
}

function describe(errors: ErrorObject[], path: string): Issue[] {
  // A union reports each branch and itself; the branches are the useful part.
  const useful = errors.filter((error) => !['anyOf', 'if'].includes(error.keyword));
  const unique = new Map<string, Issue>();
  for (const error of useful.length > 0 ? useful : errors) {
    const issue = issueOf(error, path);
    unique.set(`${issue.path}\n${issue.message}`, issue);
    if (unique.size === issuesMax) break;
  }
  return [...unique.values()];
}

const formatMessages: Record<string, string> = {
  'date-time': 'must be a time in the form of RFC 3339, such as 2026-11-20T12:00:00Z',
  email: 'must be an email address',
  uuid: 'must be a UUID',
};

function issueOf(error: ErrorObject, root: string): Issue {
  const path =
    root + error.instancePath.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const { params } = error as { params: Record<string, unknown> };
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = nameOf(params['additionalProperty']);
      const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {});
      const hint = known.length > 0 ? suggestName(name, known) : '';
      return { path: `${path}.${name}`, message: `is not known here${hint}` };
    }
    case 'required':
      return { path: `${path}.${nameOf(params['missingProperty'])}`, message: 'is required' };
    case 'enum':
      return {
        path,
        message: `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}`,
      };
    case 'pattern':
      return { path, message: describePattern(params['pattern'] as string) };
    case 'format':
      return { path, message: formatMessages[params['format'] as string] ?? 'is not valid' };
    case 'type':
      return { path, message: `must be ${[params['type']].flat().join(' or ')}` };
    default:
      return { path, message: error.message ?? 'is not valid' };
  }
}

/** The other patterns are such as `^(a|b)(,(a|b))*$`, which `facetsQuery` makes, or of what the portal's own pages send. */
function describePattern(pattern: string): string {
  const message = patternMessages[pattern];
  if (message) return message;
  const names = /^\^\((.+)\)\(,\(\1\)\)\*\$$/.exec(pattern)?.[1]?.split('|');
  if (!names) return 'is not valid';
  return names.length === 1
    ? `must be ${names[0]}`
    : `must be one or more of ${names.join(', ')}, separated by commas`;
}

function nameOf(field: unknown): string {
  return cutText(String(field), nameLengthMax);
}

/** The end of a message: names the closest one if it is close, or all. */
export function suggestName(name: string, known: readonly string[]): string {
  const near = closestMatch(name, known, { maxDistance: Math.ceil(name.length / 3) });
  return near === undefined
    ? `; use one of ${known.join(', ')}`
    : `; did you mean ${JSON.stringify(near)}?`;
}
