/** Writes the initial state of a history into the tables, in one round trip. */
import { sql } from '../../src/database/database.ts';
import { compileFilters } from '../../src/webhooks/filters/compile-filters.ts';
import { urlOwner } from '../../src/webhooks/sending/chat-platforms.ts';
import { headersOwner, sealedText } from '../../src/webhooks/sending/own-headers.ts';
import type { Name } from './commands.ts';
import {
  addressOf,
  filtersOf,
  headersOf,
  isChat,
  nameOf,
  personOf,
  privateWord,
  shownAddressOf,
  slugOf,
} from './naming.ts';
import type { Stage } from './stage.ts';
import type { State } from './state.ts';

export async function seed(stage: Stage, state: State): Promise<void> {
  await sql.raw([...statements(state, stage)].join(';\n')).execute(stage.database);
}

function* statements(state: State, { secretBox }: Stage): Generator<string> {
  for (const [slot, { id, version }] of state.alliances)
    yield `insert into alliances (id, slug, name, name_sort, search_text)
      values ('${id}', '${slugOf('alliance', slot)}', '${nameOf(slot, version)}', '', '')`;
  for (const [slot, { id, version, listed, alliance }] of state.orgs)
    yield `insert into orgs (id, slug, name, name_sort, search_text, listed, alliance_id, notes)
      values ('${id}', '${slugOf('org', slot)}', '${nameOf(slot, version)}', '', '', ${listed},
        ${idOf(state.alliances, alliance)}, '${privateWord}')`;
  for (const { id, members } of state.apps.values()) {
    yield `insert into apps (id, name) values ('${id}', 'App')`;
    for (const [person, role] of members)
      yield `insert into app_members (app_id, email, role) values ('${id}', '${personOf(person)}', '${role}')`;
  }
  for (const role of state.roles) {
    const [subject, person] = role.split('/');
    const [table, column, found] = storage(state, subject ?? '');
    yield `insert into ${table} (${column}, email) values (${found}, '${personOf(Number(person))}')`;
  }
  for (const [app, { subject, by }] of state.bindings) {
    const [, column, found] = storage(state, subject);
    yield `insert into bindings (app_id, owner_email, ${column})
      values (${idOf(state.apps, app)}, '${personOf(by)}', ${found})`;
  }
  for (const [slot, { id, app, events, replayAfterHealing }] of state.webhooks) {
    const url = addressOf(slot, 0);
    const seal = (text: string, owner = id) =>
      `'\\x${secretBox.seal(text, owner).toString('hex')}'`;
    const headers = headersOf(slot);
    yield `insert into webhooks (id, app_id, url, format, sealed_url, self_healing, events, filters, filter_path,
        replay_after_healing, secret, own_headers, own_header_names)
      values ('${id}', ${idOf(state.apps, app)}, '${shownAddressOf(slot, 0)}', '${isChat(slot) ? 'slack' : 'json'}',
        ${isChat(slot) ? seal(url, urlOwner(id)) : 'null'}, ${!isChat(slot)},
        ${events ? `'{${events.join()}}'` : 'null'}, ${filterColumns(events)},
        ${replayAfterHealing}, ${seal('whsec_c2VjcmV0')},
        ${headers ? seal(sealedText(headers, url), headersOwner(id)) : 'null'}, '{${Object.keys(headers ?? {}).join()}}')`;
  }
}

/** The filters as they are shown, and as they are evaluated. */
function filterColumns(events: Name[] | null): string {
  const filters = filtersOf(events);
  if (filters === null) return 'null, null';
  return `'${JSON.stringify(filters)}', '${compileFilters(filters, '').path}'`;
}

function storage(state: State, subject: string): [string, string, string] {
  return subject.startsWith('org-')
    ? ['org_managers', 'org_id', idOf(state.orgs, subject)]
    : ['alliance_managers', 'alliance_id', idOf(state.alliances, subject)];
}

function idOf(things: Map<number, { key: string; id: string }>, key: string | null): string {
  const found = [...things.values()].find((thing) => thing.key === key);
  return found ? `'${found.id}'` : 'null';
}
