/** Describes an entry of the audit log as a sentence. */
import type { PortalAuditEntry } from '../api/types.ts';

type Entry = Pick<PortalAuditEntry, 'action' | 'actor' | 'subject' | 'details'>;
export type Sentence = { who: string; did: string };

export function describeEntry(entry: Entry): Sentence {
  const words = wordsOf[entry.action];
  return { who: whoDid(entry.actor), did: words ? words(entry) : withoutWords(entry) };
}

function whoDid({ kind, name }: Entry['actor']): string {
  if (kind === 'key' && name !== null) return `The key “${name}”`;
  if (kind === 'user') return name === null ? 'Another user' : 'You';
  if (kind === 'system') return 'The service';
  return 'The operator of this service';
}

const wordsOf: Record<string, (entry: Entry) => string> = {
  'app.created': ({ details }) => `created the app${named(details['name'])}`,
  'app.changed': ({ details }) =>
    `renamed the app${named(details['before'], ' from')}${named(details['name'], ' to')}`,
  'app.deleted': ({ details }) => `deleted the app${named(details['name'])}`,
  'binding.created': (entry) => `bound the app to ${theSubject(entry)}`,
  'binding.ended': (entry) => `ended the binding to ${theSubject(entry)}${because(entry.details)}`,
  'key.created': (entry) => `created ${theKey(entry)}`,
  'key.revoked': (entry) => `revoked ${theKey(entry)}`,
  'key.rotated': (entry) => `rotated ${theKey(entry)}`,
  'manager.added': (entry) => `made ${somebody(entry)} a manager of ${theSubject(entry)}`,
  'manager.removed': (entry) => `removed ${somebody(entry)} as a manager of ${theSubject(entry)}`,
  'webhook.created': (entry) => `created ${theWebhook(entry)}`,
  'webhook.changed': (entry) => `changed ${whatOf(entry.details)}${theWebhook(entry)}`,
  'webhook.deleted': (entry) => `deleted ${theWebhook(entry)}`,
  'webhook.deactivated': describeDeactivation,
  'webhook.reactivated': (entry) => `reactivated ${theWebhook(entry)}`,
  'webhook.secret_rotated': (entry) => `rotated the secret of ${theWebhook(entry)}`,
  'webhook.recovered': (entry) => `recovered ${howMany(entry.details)} of ${theWebhook(entry)}`,
  'maintenance.enabled': () => 'started maintenance',
  'maintenance.changed': () => 'changed the maintenance message',
  'maintenance.disabled': () => 'ended maintenance',
};

/** A later version of the service may record other actions. */
function withoutWords({ action }: Entry): string {
  return `made a change: ${action.replaceAll(/[._]/g, ' ')}`;
}

function named(name: unknown, before = ''): string {
  return typeof name === 'string' ? `${before} “${name}”` : '';
}

function theKey({ subject }: Entry): string {
  return `the key${named(subject.name)}`;
}

function theWebhook({ subject }: Entry): string {
  return subject.name ? `the webhook at ${subject.name}` : 'a webhook';
}

const deactivationReasons: Record<string, string> = {
  failing: 'deliveries kept failing',
  gone: 'its server answered 410 Gone',
};

function describeDeactivation(entry: Entry): string {
  const reason = deactivationReasons[String(entry.details['reason'])];
  return reason === undefined
    ? `paused ${theWebhook(entry)}`
    : `disabled ${theWebhook(entry)} because ${reason}`;
}

function theSubject({ details, subject }: Entry): string {
  const kind = subject.kind === 'organization' ? 'organisation' : subject.kind;
  return typeof details['slug'] === 'string'
    ? `the ${kind} ${details['slug']}`
    : `a deleted ${kind}`;
}

function somebody({ details }: Entry): string {
  return typeof details['email'] === 'string' ? details['email'] : 'somebody';
}

const causes: Record<string, string> = {
  'app deleted': 'the app was deleted',
  'organization deleted': 'it was deleted',
  'alliance deleted': 'it was deleted',
  'role lost': 'you are no longer one of its managers',
};

function because({ cause }: Entry['details']): string {
  const why = typeof cause === 'string' ? causes[cause] : undefined;
  return why === undefined ? '' : `: ${why}`;
}

const fieldWords: Record<string, string> = {
  url: 'the address',
  events: 'the events',
  description: 'the description',
};

/** `the address and the events of `; empty if the entry does not list fields. */
function whatOf({ changed }: Entry['details']): string {
  if (!Array.isArray(changed) || changed.length === 0) return '';
  const fields = changed.map((field) => fieldWords[String(field)] ?? String(field));
  const last = fields.at(-1) ?? '';
  const rest = fields.slice(0, -1).join(', ');
  return `${rest === '' ? last : `${rest} and ${last}`} of `;
}

function howMany({ count }: Entry['details']): string {
  if (typeof count !== 'number') return 'deliveries';
  return count === 1 ? '1 delivery' : `${count.toLocaleString()} deliveries`;
}
