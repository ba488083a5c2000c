/** `orgdir apps …`: the commands that change an existing app. */
import type { Command } from 'commander';
import { deleteApp, readApp, renameApp } from '../access/apps.ts';
import { bindApp, unbindApp } from '../access/bindings.ts';
import type { Transaction } from '../database/database.ts';
import { cliActor } from './cli-actor.ts';
import {
  addSubjectOptions,
  checkSubjectOptions,
  requireSubject,
  type SubjectFlags,
} from './find-subject.ts';
import { parseName } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

const exampleApp = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';

export function addAppChanges(apps: Command): void {
  addRename(apps);
  addBinding(apps);
  addDeletion(apps);
}

function inTransaction<T>(act: (tx: Transaction) => Promise<T>): Promise<T> {
  return withDatabase(({ database }) => database.transaction().execute(act));
}

function addRename(apps: Command): void {
  apps
    .command('rename')
    .description('Rename an app.')
    .argument('<id>', 'id of the app')
    .argument('<name>', 'new name', parseName)
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir apps rename ${exampleApp} "Town crier"`)
    .action(async (id: string, name: string, { json }: { json?: boolean }) => {
      const app = await inTransaction(async (tx) => {
        await renameApp(tx, cliActor(), id, name);
        return readApp(tx, id);
      });
      print(json, app, [`Renamed app ${app.id} to ${app.name}.`]);
    });
}

function addBinding(apps: Command): void {
  const bind = apps
    .command('bind')
    .description(
      'Bind an app to an organisation or alliance that one of its owners manages, so that it receives the internal events.',
    )
    .argument('<id>', 'id of the app')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir apps bind ${exampleApp} --org acme-corporation`)
    .action(async (id: string, { json, ...flags }: SubjectFlags & { json?: boolean }) => {
      checkSubjectOptions(flags, bind);
      const app = await inTransaction(async (tx) => {
        await readApp(tx, id);
        await bindApp(tx, cliActor(), id, await requireSubject(tx, flags));
        return readApp(tx, id);
      });
      print(json, app, [`App ${id} is bound to ${app.organizationSlug ?? app.allianceSlug}.`]);
    });
  addSubjectOptions(bind, 'bind it to');
  apps
    .command('unbind')
    .description('Unbind an app. Pending deliveries that depend on the binding are cancelled.')
    .argument('<id>', 'id of the app')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir apps unbind ${exampleApp}`)
    .action(async (id: string, { json }: { json?: boolean }) => {
      const changed = await inTransaction(async (tx) => {
        await readApp(tx, id);
        return unbindApp(tx, cliActor(), id);
      });
      print(json, { id, changed }, [
        changed ? `App ${id} is no longer bound.` : `App ${id} was not bound.`,
      ]);
    });
}

function addDeletion(apps: Command): void {
  apps
    .command('delete')
    .description('Delete an app with its keys, webhooks and deliveries. This cannot be undone.')
    .argument('<id>', 'id of the app')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir apps delete ${exampleApp}`)
    .action(async (id: string, { json }: { json?: boolean }) => {
      await inTransaction((tx) => deleteApp(tx, cliActor(), id));
      print(json, { id, deleted: true }, [`App ${id} is deleted.`]);
    });
}
