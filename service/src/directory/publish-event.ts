/** Publishes an event for an operator or the platform: finds the subject, adds its ids and names, records it. */
import type { Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import {
  catalogue,
  catalogueEntry,
  subscribableEvents,
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
      message: `${name} comes only from what it tells of, and cannot be published`,
    });
  }
  return bound(tx, name, inner, publication);
}

function requireName(name: string): EventName {
  if (catalogueEntry(name) && name !== 'webhook.test') return name as EventName;
  throw invalid({
    path: 'name',
    message: `must be one of ${subscribableEvents.join(', ')}, not ${name}`,
  });
}

async function announceOrg(
  tx: Transaction,
  { name, org, alliance, data, publicUrl }: Publication,
): Promise<NewEvent> {
  refuse(data !== null, 'data', `of ${name} is made by the service`);
  refuse(alliance !== null, 'alliance', `does not go with ${name}`);
  const found = await requireOrg(tx, org);
  const [organisation] = await publicOrgs(tx, [found.id], publicUrl);
  if (!organisation)
    throw new ServiceError('conflict', `${found.slug} is not listed, so it is not announced.`);
  return { name: 'org.created', data: organisation, orgId: organisation.id };
}

async function announceAlliance(
  tx: Transaction,
  { name, org, alliance, data, publicUrl }: Publication,
): Promise<NewEvent> {
  refuse(data !== null, 'data', `of ${name} is made by the service`);
  refuse(org !== null, 'org', `does not go with ${name}`);
  const { id } = await requireAlliance(tx, alliance);
  const [found] = await publicAlliances(tx, [id], publicUrl);
  if (!found) throw new ServiceError('not_found', `There is no alliance ${alliance}.`);
  return { name: 'alliance.created', data: found, allianceId: id };
}

async function bound(
  tx: Transaction,
  name: EventName,
  inner: string,
  publication: Publication,
): Promise<NewEvent> {
  const { audience } = catalogue[name];
  const isOrg = audience === 'organization';
  refuse(
    (isOrg ? publication.alliance : publication.org) !== null,
    isOrg ? 'alliance' : 'org',
    `does not go with ${name}`,
  );
  const {
    id,
    slug,
    name: title,
  } = isOrg
    ? await requireOrg(tx, publication.org)
    : await requireAlliance(tx, publication.alliance);
  const subject = { id, slug, name: title };
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

async function requireOrg(tx: Transaction, slug: string | null) {
  if (slug === null)
    throw invalid({
      path: 'org',
      message: 'is required: the slug of the organisation that the event is about',
    });
  const org = await findOrg(tx, slug);
  if (!org) throw new ServiceError('not_found', `There is no organisation ${slug}.`);
  return org;
}

async function requireAlliance(tx: Transaction, slug: string | null) {
  if (slug === null)
    throw invalid({
      path: 'alliance',
      message: 'is required: the slug of the alliance that the event is about',
    });
  const alliance = await findAlliance(tx, slug);
  if (!alliance) throw new ServiceError('not_found', `There is no alliance ${slug}.`);
  return alliance;
}

function refuse(wrong: boolean, path: string, message: string): void {
  if (wrong) throw invalid({ path, message });
}
