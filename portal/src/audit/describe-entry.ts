/** Describes an entry of the audit log as a sentence. */
import type { PortalAuditEntry } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';

type Entry = Pick<PortalAuditEntry, 'action' | 'actor' | 'subject' | 'details'>;
export type Sentence = { who: string; did: string };

export function describeEntry(entry: Entry): Sentence {
  const words = sentences[entry.action];
  return { who: describeActor(entry.actor), did: words ? words(entry) : describeUnknown(entry) };
}

function describeActor({ kind, name, isYou }: Entry['actor']): string {
  if (kind === 'key' && name !== null) return `The key “${name}”`;
  if (kind === 'user') return isYou ? 'You' : (name ?? 'Another user');
  if (kind === 'system') return 'The service';
  return 'The operator of this service';
}

const sentences: Record<string, (entry: Entry) => string> = {
  'announcement.created': ({ details }) => `announced${quoteName(details['text'])}`,
  'announcement.ended': ({ details }) => `ended the announcement${quoteName(details['text'])}`,
  'app.created': ({ details }) => `created the app${quoteName(details['name'])}`,
  'app.changed': ({ details }) =>
    `renamed the app${quoteName(details['before'], ' from')}${quoteName(details['name'], ' to')}`,
  'app.deleted': ({ details }) => `deleted the app${quoteName(details['name'])}`,
  'app.quotas_changed': ({ details }) => `changed the limits of the app${describeQuotas(details)}`,
  'app.suspended': ({ details }) => `suspended the app${describeReason(details)}`,
  'app.restored': () => 'restored the app',
  'binding.created': (entry) => `bound the app to ${describeSubject(entry)}`,
  'binding.ended': (entry) =>
    `ended the binding to ${describeSubject(entry)}${describeCause(entry.details)}`,
  'invitation.created': ({ details }) => `invited ${describeMember(details)}`,
  'invitation.ended': ({ details }) =>
    `ended the invitation of ${describePerson(details)}${describeCause(details)}`,
  'invitation.resent': ({ details }) => `resent the invitation of ${describePerson(details)}`,
  'key.created': (entry) => `created ${describeKey(entry)}`,
  'key.revoked': (entry) => `revoked ${describeKey(entry)}`,
  'key.rotated': (entry) => `rotated ${describeKey(entry)}`,
  'key.suspended': (entry) => `suspended ${describeKey(entry)}${describeReason(entry.details)}`,
  'key.restored': (entry) => `restored ${describeKey(entry)}`,
  'manager.added': (entry) =>
    `made ${describePerson(entry.details)} a manager of ${describeSubject(entry)}`,
  'manager.removed': (entry) =>
    `removed ${describePerson(entry.details)} as a manager of ${describeSubject(entry)}`,
  'member.added': ({ details }) => `added ${describeMember(details)}`,
  'member.removed': ({ details }) => `removed ${describePerson(details)}`,
  'member.role_changed': ({ details }) =>
    `made ${describePerson(details)} ${describeRole(details['role'])}`,
  'sync.started': ({ details }) => `started a sync${quoteName(details['kind'])}`,
  'webhook.created': (entry) => `created ${describeWebhook(entry)}`,
  'webhook.changed': (entry) => `changed ${describeFields(entry.details)}${describeWebhook(entry)}`,
  'webhook.deleted': (entry) => `deleted ${describeWebhook(entry)}`,
  'webhook.deactivated': describeDeactivation,
  'webhook.reactivated': (entry) => `reactivated ${describeWebhook(entry)}`,
  'webhook.secret_rotated': (entry) => `rotated the secret of ${describeWebhook(entry)}`,
  'webhook.probed': (entry) =>
    `probed ${describeWebhook(entry)}, ${entry.details['succeeded'] === true ? 'which responded' : 'without success'}`,
  'webhook.replayed': (entry) =>
    `replayed ${describeCount(entry.details)} of ${describeWebhook(entry)}`,
  'webhook.recovered': (entry) =>
    `recovered ${describeCount(entry.details)} of ${describeWebhook(entry)}`,
  'webhook.suspended': (entry) =>
    `suspended ${describeWebhook(entry)}${describeReason(entry.details)}`,
  'webhook.url_revealed': (entry) =>
    `looked at the whole URL of ${describeWebhook(entry)}${describeReason(entry.details)}`,
  'webhook.restored': (entry) => `restored ${describeWebhook(entry)}`,
  'entry.created': (entry) => `created ${describeSubject(entry)}`,
  'entry.changed': (entry) => `changed ${describeSubject(entry)}`,
  'entry.deleted': (entry) => `deleted ${describeSubject(entry)}`,
  'event.retried': () => 'retried an event that was set aside',
  'event.dropped': () => 'dropped an event that was set aside',
  'maintenance.enabled': () => 'started maintenance',
  'maintenance.changed': () => 'changed the maintenance message',
  'maintenance.disabled': () => 'ended maintenance',
};

/** A later version of the service may record other actions. */
function describeUnknown({ action }: Entry): string {
  return `made a change: ${action.replaceAll(/[._]/g, ' ')}`;
}

function quoteName(name: unknown, before = ''): string {
  return typeof name === 'string' ? `${before} “${name}”` : '';
}

function describeKey({ subject }: Entry): string {
  return `the key${quoteName(subject.name)}`;
}

function describeWebhook({ subject }: Entry): string {
  return subject.name ? `the webhook at ${subject.name}` : 'a webhook';
}

const deactivationReasons: Record<string, string> = {
  failing: 'deliveries kept failing',
  gone: 'its server responded with 410 Gone, or its chat channel was deleted',
};

function describeDeactivation(entry: Entry): string {
  const reason = deactivationReasons[String(entry.details['reason'])];
  return `deactivated ${describeWebhook(entry)}${reason === undefined ? '' : ` because ${reason}`}`;
}

const quotaLabels: Record<string, string> = { rate: 'requests per minute', keys: 'API keys' };

function describeQuotas({ quotas }: Entry['details']): string {
  if (typeof quotas !== 'object' || quotas === null) return '';
  const changed = Object.entries(quotas).map(
    ([quota, maximum]) => `${maximum ?? 'default'} ${quotaLabels[quota] ?? quota}`,
  );
  return `: ${changed.join(', ')}`;
}

function describeReason({ reason }: Entry['details']): string {
  return typeof reason === 'string' ? `: ${reason}` : '';
}

function describeSubject({ details, subject }: Entry): string {
  const kind = subject.kind === 'organization' ? 'organisation' : subject.kind;
  return typeof details['slug'] === 'string'
    ? `the ${kind} ${details['slug']}`
    : `a deleted ${kind}`;
}

function describePerson({ email }: Entry['details']): string {
  return typeof email === 'string' ? email : 'somebody';
}

function describeMember(details: Entry['details']): string {
  return `${describePerson(details)} as ${describeRole(details['role'])}`;
}

function describeRole(role: unknown): string {
  if (role === 'owner') return 'an owner';
  return `a ${role === 'developer' || role === 'viewer' ? role : 'member'}`;
}

const causes: Record<string, string> = {
  'app deleted': 'the app was deleted',
  'organization deleted': 'it was deleted',
  'alliance deleted': 'it was deleted',
  'owner lost': 'the owner who made it is no longer an owner',
  'role lost': 'the owner who made it is no longer one of its managers',
  accepted: 'it was accepted',
  declined: 'it was declined',
  expired: 'it expired',
  revoked: 'it was revoked',
};

function describeCause({ cause }: Entry['details']): string {
  const why = typeof cause === 'string' ? causes[cause] : undefined;
  return why === undefined ? '' : `: ${why}`;
}

const fieldLabels: Record<string, string> = {
  url: 'the address',
  events: 'the events',
  description: 'the description',
  headers: 'the headers',
};

/** `the address and the events of `; empty if the entry does not list fields. */
function describeFields({ changed }: Entry['details']): string {
  if (!Array.isArray(changed) || changed.length === 0) return '';
  const fields = changed.map((field) => fieldLabels[String(field)] ?? String(field));
  const last = fields.at(-1) ?? '';
  const rest = fields.slice(0, -1).join(', ');
  return `${rest === '' ? last : `${rest} and ${last}`} of `;
}

function describeCount({ count }: Entry['details']): string {
  if (typeof count !== 'number') return 'deliveries';
  return formatCount(count, 'delivery');
}
