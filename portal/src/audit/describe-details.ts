/** Describes the details of an audit log entry as names and values. */
import type { PortalAuditEntry } from '../api/types.ts';
import { capitalise } from '../ui/capitalise.ts';
import type { Times } from '../ui/times.tsx';

const names: Record<string, string> = {
  last4: 'Last four characters',
  scopes: 'Scopes',
  expiresAt: 'Expires',
  newKeyId: 'New key id',
  oldEndsAt: 'Old key expires',
  wasDeactivated: 'Was deactivated because of',
  overlapSeconds: 'Overlap in seconds',
  slug: 'Slug',
};

export function describeDetails(
  {
    at,
    subject,
    details,
  }: Pick<PortalAuditEntry, 'at' | 'details'> & { subject: { id: string | null } },
  { exact }: Times,
): [string, string][] {
  const known = Object.entries(details).map(([name, value]): [string, string] => [
    names[name] ?? formatFieldName(name),
    describeValue(value, exact),
  ]);
  const time: [string, string] = ['Time', exact(at)];
  return subject.id === null ? [time, ...known] : [time, ...known, ['Id', subject.id]];
}

/** `somethingNew` → `Something new`. */
function formatFieldName(name: string): string {
  return capitalise(name.replaceAll(/([A-Z])/g, ' $1').toLowerCase());
}

function describeValue(value: unknown, exact: Times['exact']): string {
  if (value === null || value === undefined) return 'None';
  if (Array.isArray(value)) return value.map((each) => describeValue(each, exact)).join(', ');
  if (typeof value === 'string') return isTime(value) ? exact(value) : value;
  return JSON.stringify(value);
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text);
}
