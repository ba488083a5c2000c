/** Publishes an event for an operator or the platform: finds the subject, adds its ids and names, records it. */
import type { Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import {
  catalogue,
  catalogueEntry,
  publishableEvents,
  type EventName,
} from '../events/catalogue.ts';
import { checkInner } from '../events/check-inner.ts';
import { recordEvent, type NewEvent } from '../events/record-event.ts';
import { findAlliance, publicAlliances } from './alliances.ts';
import { findOrg, publicOrgs } from './orgs.ts';

export type Publication = {
  name: string;
  /** Slugs; each event needs the slug of its subject. */
  org: string | null;
  alliance: string | null;
  /** The inner object of a bound event. The service itself builds the data of a global one. */
  data: unknown;
  publicUrl: string;
  /** The event's id if it is known already. Default: a new UUIDv7. */
  id?: string;
};

/** Returns the event's id. Throws `validation_failed`, `not_found`, and `conflict` if the subject is not public. */
export async function publishEvent(tx: Transaction, publication: Publication): Promise<string> {
  const { id } = publication;
  return recordEvent(tx, {
    ...(await render(tx, publication)),
    ...(id === undefined ? {} : { id }),
  });
}

async function render(tx: Transaction, publication: Publication): Promise<NewEvent> {
  const name = requireName(publication.name);
  if (name === 'org.created') return announceOrg(tx, publication);
  if (name === 'alliance.created') return announceAlliance(tx, publication);
  const { inner } = catalogue[name];
  if (inner === null) {
    throw invalid({
      path: 'name',
      message: `${name} is published by the service itself`,
    });
  }
  return renderBound(tx, name, inner, publication);
}

function requireName(name: string): EventName {
  if (catalogueEntry(name) && name !== 'webhook.test') return name as EventName;
  throw invalid({
    path: 'name',
    message: `must be one of ${publishableEvents.join(', ')}, not ${name}`,
  });
}

async function announceOrg(
  tx: Transaction,
  { name, org, alliance, data, publicUrl }: Publication,
): Promise<NewEvent> {
  rejectIf(data !== null, 'data', `of ${name} is created by the service`);
  rejectIf(alliance !== null, 'alliance', `cannot be used with ${name}`);
  const found = await requireOrg(tx, org);
  const [organisation] = await publicOrgs(tx, [found.id], publicUrl);
  if (!organisation)
    throw new ServiceError('conflict', `${found.slug} is not listed, so it cannot be announced.`);
  return { name: 'org.created', data: organisation, orgId: organisation.id };
}

async function announceAlliance(
  tx: Transaction,
  { name, org, alliance, data, publicUrl }: Publication,
): Promise<NewEvent> {
  rejectIf(data !== null, 'data', `of ${name} is created by the service`);
  rejectIf(org !== null, 'org', `cannot be used with ${name}`);
  const { id } = await requireAlliance(tx, alliance);
  const [found] = await publicAlliances(tx, [id], publicUrl);
  if (!found) throw new ServiceError('not_found', `There is no alliance ${alliance}.`);
  return { name: 'alliance.created', data: found, allianceId: id };
}

async function renderBound(
  tx: Transaction,
  name: EventName,
  inner: string,
  publication: Publication,
): Promise<NewEvent> {
  const { audience } = catalogue[name];
  const isOrg = audience === 'organization';
  const { org, alliance } = publication;
  const other = isOrg ? 'alliance' : 'org';
  rejectIf(publication[other] !== null, other, `cannot be used with ${name}`);
  const found = isOrg ? await requireOrg(tx, org) : await requireAlliance(tx, alliance);
  const { id } = found;
  const subject = { id, slug: found.slug, name: found.name };
  const supplied = requireInner(name, publication.data);
  const data = isOrg
    ? { organizationId: id, organization: subject, [inner]: supplied }
    : { allianceId: id, alliance: subject, [inner]: supplied };
  return { name, data, orgId: isOrg ? id : null, allianceId: isOrg ? null : id };
}

function requireInner(name: EventName, data: unknown): unknown {
  const result = checkInner(name, data);
  if (!result.ok) throw invalid(...result.issues);
  return result.value;
}

const requireOrg = (tx: Transaction, slug: string | null) =>
  requireSubject('org', 'organisation', slug, (known) => findOrg(tx, known));
const requireAlliance = (tx: Transaction, slug: string | null) =>
  requireSubject('alliance', 'alliance', slug, (known) => findAlliance(tx, known));

async function requireSubject<T>(
  path: string,
  noun: string,
  slug: string | null,
  find: (slug: string) => Promise<T | null>,
): Promise<T> {
  if (slug === null)
    throw invalid({
      path,
      message: `is required: the slug of the ${noun} that the event is about`,
    });
  const found = await find(slug);
  if (!found) throw new ServiceError('not_found', `There is no ${noun} ${slug}.`);
  return found;
}

function rejectIf(wrong: boolean, path: string, message: string): void {
  if (wrong) throw invalid({ path, message });
}
