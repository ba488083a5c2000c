/** `orgdir apps …`: the commands that change an existing app. */
import type { Command } from 'commander';
import { deleteApp, readApp, renameApp } from '../access/apps.ts';
import { bindApp, unbindApp } from '../access/bindings.ts';
import { cliActor } from './cli-actor.ts';
import {
  checkSubjectOptions,
  requireSubject,
  subjectOptions,
  type SubjectFlags,
} from './find-subject.ts';
import { addCommand, exampleId, parseName } from './parse-option.ts';

const argument = ['<id>', 'id of the app'] as const;

export function addAppChanges(apps: Command): void {
  addCommand(apps, {
    name: 'rename',
    description: 'Rename an app.',
    argument,
    secondArgument: ['<name>', 'new name', parseName],
    example: `${exampleId} "Town crier"`,
    async act({ change, given: id, second: name }) {
      const app = await change(async (tx) => {
        await renameApp(tx, cliActor(), id, name);
        return readApp(tx, id);
      });
      return [app, [`Renamed app ${app.id} to ${app.name}.`]];
    },
  });
  addBinding(apps);
  addCommand(apps, {
    name: 'delete',
    description: 'Delete an app with its keys, webhooks and deliveries. This cannot be undone.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      await change((tx) => deleteApp(tx, cliActor(), id));
      return [{ id, deleted: true }, [`App ${id} is deleted.`]];
    },
  });
}

function addBinding(apps: Command): void {
  addCommand<SubjectFlags>(apps, {
    name: 'bind',
    description:
      'Bind an app to an organisation or alliance that one of its owners manages, so that it receives the internal events.',
    argument,
    options: subjectOptions('bind it to'),
    example: `${exampleId} --org acme-corporation`,
    check: checkSubjectOptions,
    async act({ change, given: id, flags }) {
      const app = await change(async (tx) => {
        await readApp(tx, id);
        await bindApp(tx, cliActor(), id, await requireSubject(tx, flags));
        return readApp(tx, id);
      });
      return [app, [`App ${id} is bound to ${app.organizationSlug ?? app.allianceSlug}.`]];
    },
  });
  addCommand(apps, {
    name: 'unbind',
    description: 'Unbind an app. Pending deliveries that depend on the binding are cancelled.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      const changed = await change(async (tx) => {
        await readApp(tx, id);
        return unbindApp(tx, cliActor(), id);
      });
      return [
        { id, changed },
        [changed ? `App ${id} is no longer bound.` : `App ${id} was not bound.`],
      ];
    },
  });
}
