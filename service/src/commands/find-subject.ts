/** Finds the organisation or alliance that `--org` or `--alliance` names. */
import { Option, type Command } from 'commander';
import type { Subject } from '../access/managers.ts';
import type { Executor } from '../database/database.ts';
import { findAlliance } from '../directory/alliances.ts';
import { findOrg } from '../directory/orgs.ts';
import { invalid, ServiceError } from '../errors.ts';

export type SubjectFlags = { org?: string; alliance?: string };

/** `role` begins the help text of both options: `bind it to` this organisation. */
export function subjectOptions(role: string): Option[] {
  return [
    new Option('--org <slug>', `${role} this organisation`).conflicts('alliance'),
    new Option('--alliance <slug>', `${role} this alliance`),
  ];
}

/** Exits with 2 if neither option was given. */
export function checkSubjectOptions({
  flags: { org, alliance },
  command,
}: {
  flags: SubjectFlags;
  command: Command;
}): void {
  if (org === undefined && alliance === undefined)
    command.error("error: required option '--org <slug>' or '--alliance <slug>' not specified");
}

/** Returns null if neither option was given. Throws `validation_failed`, `not_found`. */
export async function findSubject(
  tx: Executor,
  { org, alliance }: SubjectFlags,
): Promise<Subject | null> {
  if (org !== undefined && alliance !== undefined)
    throw invalid({ path: '--org', message: 'cannot be used with --alliance; use one of them' });
  if (org !== undefined) {
    const found = await findOrg(tx, org);
    if (!found) throw new ServiceError('not_found', `There is no organisation ${org}.`);
    return { kind: 'organization', id: found.id };
  }
  if (alliance === undefined) return null;
  const found = await findAlliance(tx, alliance);
  if (!found) throw new ServiceError('not_found', `There is no alliance ${alliance}.`);
  return { kind: 'alliance', id: found.id };
}

/** Like `findSubject`, but one of the options is required. */
export async function requireSubject(tx: Executor, flags: SubjectFlags): Promise<Subject> {
  const subject = await findSubject(tx, flags);
  if (!subject) throw invalid({ path: '--org', message: 'or --alliance is required' });
  return subject;
}
