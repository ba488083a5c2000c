/**
 * Managers, apps, their members and bindings: a binding ends when whoever made it is no longer an owner of the app or a
 * manager of its subject.
 */
import type { AppRole } from '../../src/contract/app-roles.ts';
import type { Rules } from './rules.ts';
import { subjectAt } from './model-directory.ts';
import { newKey, requireThat, type App, type State } from './state.ts';

export const accessRules: Rules<
  | 'add-manager'
  | 'remove-manager'
  | 'create-app'
  | 'delete-app'
  | 'set-member'
  | 'join'
  | 'remove-member'
  | 'transfer'
  | 'bind'
  | 'unbind'
> = {
  'add-manager'(state, { of, person }) {
    const subject = subjectAt(state, of);
    requireThat(subject);
    state.roles.add(roleOf(subject.key, person));
  },
  'remove-manager'(state, { of, person }) {
    const subject = subjectAt(state, of);
    if (!subject) return;
    state.roles.delete(roleOf(subject.key, person));
    for (const [app, binding] of state.bindings)
      if (binding.by === person && binding.subject === subject.key) state.bindings.delete(app);
  },
  'create-app'(state, { app, owner }, { observation }) {
    requireThat(!state.apps.has(app));
    const members = new Map([[owner, 'owner' as const]]);
    state.apps.set(app, {
      key: newKey(state, `app-${app}`),
      id: observation.id ?? '',
      members,
      suspended: false,
    });
  },
  'delete-app'(state, { app }) {
    const gone = state.apps.get(app)?.key;
    state.apps.delete(app);
    state.bindings.delete(gone ?? '');
    for (const [slot, webhook] of state.webhooks)
      if (webhook.app === gone) state.webhooks.delete(slot);
  },
  'set-member'(state, { app, person, role }) {
    const found = state.apps.get(app);
    requireThat(found);
    setRole(state, found, person, role);
  },
  join(state, { app, person, role }) {
    const found = state.apps.get(app);
    requireThat(found && !found.suspended && !found.members.has(person));
    setRole(state, found, person, role);
  },
  'remove-member'(state, { app, person }) {
    const found = state.apps.get(app);
    requireThat(found);
    setRole(state, found, person, null);
  },
  transfer(state, { app, from, person }) {
    const found = state.apps.get(app);
    requireThat(found && !found.suspended && from !== person && found.members.has(person));
    requireThat(found.members.get(from) === 'owner');
    setRole(state, found, person, 'owner');
    setRole(state, found, from, 'developer');
  },
  bind(state, { app, to, by }) {
    const found = state.apps.get(app);
    const subject = subjectAt(state, to);
    requireThat(found && subject && !state.bindings.has(found.key));
    const [owner] = [...found.members.keys()]
      .filter((person) => by === null || person === by)
      .filter((person) => found.members.get(person) === 'owner')
      .filter((person) => state.roles.has(roleOf(subject.key, person)))
      .toSorted((one, other) => one - other);
    requireThat(owner !== undefined);
    state.bindings.set(found.key, { subject: subject.key, at: state.tick, by: owner });
  },
  unbind(state, { app }) {
    state.bindings.delete(state.apps.get(app)?.key ?? '');
  },
};

/** `role` null removes the member. An app keeps an owner. */
function setRole(state: State, app: App, person: number, role: AppRole | null): void {
  const others = [...app.members].filter(([member]) => member !== person);
  requireThat(role === 'owner' || others.some(([, each]) => each === 'owner'));
  if (role === null) app.members.delete(person);
  else app.members.set(person, role);
  if (role !== 'owner' && state.bindings.get(app.key)?.by === person)
    state.bindings.delete(app.key);
}

export function boundKind(state: State, app: string): 'org' | 'alliance' | null {
  const subject = state.bindings.get(app)?.subject;
  if (subject === undefined) return null;
  return subject.startsWith('org-') ? 'org' : 'alliance';
}

const roleOf = (subject: string, person: number) => `${subject}/${person}`;
