/** Managers, apps and bindings: a binding ends with the role of the app's owner. */
import type { Rules } from './rules.ts';
import { subjectAt } from './model-directory.ts';
import { newKey, requireThat, type State } from './state.ts';

export const accessRules: Rules<
  'add-manager' | 'remove-manager' | 'create-app' | 'delete-app' | 'bind' | 'unbind'
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
    for (const app of state.apps.values()) {
      if (app.owner === person && state.bindings.get(app.key)?.subject === subject.key)
        state.bindings.delete(app.key);
    }
  },
  'create-app'(state, { app, owner }, { observation }) {
    requireThat(!state.apps.has(app));
    state.apps.set(app, { key: newKey(state, `app-${app}`), id: observation.id ?? '', owner });
  },
  'delete-app'(state, { app }) {
    const gone = state.apps.get(app)?.key;
    state.apps.delete(app);
    state.bindings.delete(gone ?? '');
    for (const [slot, webhook] of state.webhooks)
      if (webhook.app === gone) state.webhooks.delete(slot);
  },
  bind(state, { app, to }) {
    const found = state.apps.get(app);
    const subject = subjectAt(state, to);
    requireThat(found && subject && !state.bindings.has(found.key));
    requireThat(state.roles.has(roleOf(subject.key, found.owner)));
    state.bindings.set(found.key, { subject: subject.key, at: state.tick });
  },
  unbind(state, { app }) {
    state.bindings.delete(state.apps.get(app)?.key ?? '');
  },
};

export function boundKind(state: State, app: string): 'org' | 'alliance' | null {
  const subject = state.bindings.get(app)?.subject;
  if (subject === undefined) return null;
  return subject.startsWith('org-') ? 'org' : 'alliance';
}

const roleOf = (subject: string, person: number) => `${subject}/${person}`;
