/** Organisations and alliances, maintenance, and the events that they cause. */
import { subjectOf, type Name, type Place } from './commands.ts';
import type { Rules } from './rules.ts';
import { fieldOf, innerOf, nameOf, slugOf } from './naming.ts';
import { newKey, requireThat, type Expected, type State } from './state.ts';

export const directoryRules: Rules<
  | 'set-org'
  | 'delete-org'
  | 'set-alliance'
  | 'delete-alliance'
  | 'announce'
  | 'maintenance'
  | 'publish'
> = {
  'set-org'(state, command, { observation }) {
    const before = state.orgs.get(command.org);
    const alliance =
      typeof command.alliance === 'number' ? state.alliances.get(command.alliance)?.key : null;
    requireThat(alliance !== undefined);
    const listed = command.listed ?? before?.listed ?? true;
    state.orgs.set(command.org, {
      key: before?.key ?? newKey(state, slugOf('org', command.org)),
      id: before?.id ?? observation.id ?? '',
      version: (before?.version ?? 0) + (command.rename ? 1 : 0),
      listed,
      everListed: listed || (before?.everListed ?? false),
      alliance: command.alliance === undefined ? (before?.alliance ?? null) : alliance,
    });
    // It goes out when it first becomes listed.
    if (listed && !before?.everListed) announceOrg(state, command.org);
  },
  'delete-org'(state, { org }) {
    const gone = state.orgs.get(org)?.key;
    if (gone !== undefined) forget(state, gone);
    state.orgs.delete(org);
  },
  'set-alliance'(state, { alliance, disbanded, rename }, { observation }) {
    const before = state.alliances.get(alliance);
    state.alliances.set(alliance, {
      key: before?.key ?? newKey(state, slugOf('alliance', alliance)),
      id: before?.id ?? observation.id ?? '',
      version: (before?.version ?? 0) + (rename ? 1 : 0),
      disbanded: disbanded ?? before?.disbanded ?? false,
    });
    if (!before) announceAlliance(state, alliance);
  },
  'delete-alliance'(state, { alliance }) {
    const gone = state.alliances.get(alliance)?.key;
    if (gone !== undefined) forget(state, gone);
    state.alliances.delete(alliance);
    for (const org of state.orgs.values()) if (org.alliance === gone) org.alliance = null;
  },
  announce(state, { what }) {
    if (what.kind === 'alliance') {
      requireThat(state.alliances.has(what.slot));
      announceAlliance(state, what.slot);
    } else {
      requireThat(state.orgs.get(what.slot)?.listed);
      announceOrg(state, what.slot);
    }
  },
  maintenance(state, { on }) {
    if (state.maintenance === on) return;
    state.maintenance = on;
    const name = on ? 'system.maintenance.enabled' : 'system.maintenance.disabled';
    record(state, name, null, { fields: on ? { message: 'soon', expectedEnd: null } : {} });
  },
  publish(state, { name, of, text, amount }) {
    const kind = subjectOf[name];
    const subject = subjectAt(state, { kind, slot: of });
    requireThat(subject);
    const about = { id: subject.id, slug: slugOf(kind, of), name: nameOf(of, subject.version) };
    const [idField, field] =
      kind === 'org' ? ['organizationId', 'organization'] : ['allianceId', 'alliance'];
    const data = {
      [idField]: about.id,
      [field]: about,
      [fieldOf[name]]: innerOf(name, text, amount),
    };
    record(state, name, subject.key, { exactly: JSON.stringify(data) });
  },
};

export function subjectAt(state: State, { kind, slot }: Place) {
  return (kind === 'org' ? state.orgs : state.alliances).get(slot);
}

/** With an organisation or alliance go its managers' roles and the bindings to it. */
function forget(state: State, key: string): void {
  for (const role of state.roles) if (role.startsWith(`${key}/`)) state.roles.delete(role);
  for (const [app, { subject }] of state.bindings) if (subject === key) state.bindings.delete(app);
}

function announceOrg(state: State, slot: number): void {
  const org = state.orgs.get(slot);
  if (!org) return;
  const alliance = [...state.alliances].find(([, { key }]) => key === org.alliance);
  record(state, 'org.created', org.key, {
    fields: {
      id: org.id,
      slug: slugOf('org', slot),
      name: nameOf(slot, org.version),
      alliance: alliance
        ? {
            id: alliance[1].id,
            slug: slugOf('alliance', alliance[0]),
            name: nameOf(alliance[0], alliance[1].version),
            tag: null,
          }
        : null,
    },
  });
}

function announceAlliance(state: State, slot: number): void {
  const alliance = state.alliances.get(slot);
  if (!alliance) return;
  const members = [...state.orgs.values()].filter(
    (org) => org.alliance === alliance.key && org.listed,
  );
  record(state, 'alliance.created', alliance.key, {
    fields: {
      id: alliance.id,
      slug: slugOf('alliance', slot),
      name: nameOf(slot, alliance.version),
      orgCount: members.length,
      status: alliance.disbanded ? 'disbanded' : 'active',
    },
  });
}

function record(state: State, name: Name, subject: string | null, expected: Expected): void {
  state.events.push({
    at: state.tick,
    name,
    subject,
    expected,
    stored: null,
    position: null,
    routing: null,
  });
}
