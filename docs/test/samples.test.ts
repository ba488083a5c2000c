/** The samples on the pages of operations work, in every language. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { announce, blueprint, put } from '../../service/test/support/directory.ts';
import { endedDelivery } from '../../service/test/support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { sections } from '../site/navigation.ts';
import type { SampleRequest } from '../site/page.ts';
import { samplesOf } from '../site/samples.ts';
import { createReader, root, unless } from './support/reader.ts';

const service = await startTestService({ worker: true, env: loopbackAllowed });
const receiver = await startReceiver();
const reader = await createReader();
await put(service.database, 'alliances', [{ slug: 'northern-league', name: 'Northern League' }]);
await put(service.database, 'orgs', [{ slug: 'acme-corporation', name: 'Acme Corporation' }]);
await put(service.database, 'blueprints', [blueprint({ key: 'gear', name: 'Gear' })]);
await service.settled();
const install = /```sh\n(npm init .*)\n/.exec(
  await readFile(`${root}client/README.md`, 'utf8'),
)?.[1];
// As the page of the client says, without the installation, which the reader has.
await reader.run('sh', ['-c', install ?? 'false'], {});
const { body: blueprints } = await service.call('/blueprints');
const slugs: Record<string, Values> = { getBlueprint: { slug: blueprints.data[0].slug } };

const requests = sections
  .flatMap(({ pages }) => pages)
  .flatMap(({ request }) => (request ? [request] : []));

type Language = { file: string; command: string; args: string[]; missing: string | false };
const languages: Record<string, Language> = {
  curl: {
    file: 'sample.sh',
    command: 'sh',
    args: ['sample.sh'],
    missing: unless('curl', '--version'),
  },
  TypeScript: { file: 'sample.ts', command: 'node', args: ['sample.ts'], missing: false },
  Python: {
    file: 'sample.py',
    command: 'python3',
    args: ['sample.py'],
    missing: unless('python3', '--version'),
  },
  Go: {
    file: 'sample.go',
    command: 'go',
    args: ['run', 'sample.go'],
    missing: unless('go', 'version'),
  },
};
/** Compiling takes a second. These have a body, a key, and neither. */
const samplesInGo = ['createWebhook', 'listOrgs', 'getStatus'];

for (const [title, language] of Object.entries(languages))
  suite(title, { skip: language.missing }, () => {
    for (const request of requests)
      if (title !== 'Go' || samplesInGo.includes(request.operationId))
        test(request.operationId, () => runSample(request, title, language));
  });

async function runSample(request: SampleRequest, title: string, language: Language): Promise<void> {
  const values = request.path.includes('{id}') ? await createWebhook() : slugs[request.operationId];
  const parameters = request.parameters.map((parameter) => {
    const { example, ...rest } = parameter;
    return { ...rest, example: values?.[parameter.name] ?? example };
  });
  const sample = samplesOf({ ...request, parameters }).find((each) => each.title === title);
  assert.ok(sample);
  await reader.write(language.file, sample.code.replaceAll('{{url}}', service.url));
  const command = [language.command, ...language.args].join(' ');
  // One that does not end by itself.
  const isStream = request.operationId.startsWith('stream');
  const line = isStream ? `timeout 5 ${command} || test $? = 124` : command;
  // Reading the TypeScript of the client takes most of the time of a program.
  const env = { KEY: service.key, NODE_COMPILE_CACHE: 'compiled' };
  const output = await reader.run('sh', ['-c', line], env);
  assert.ok(output.trim().length > 2, output);
  assert.doesNotMatch(output, /^\{"success":false/);
}

type Values = Record<string, string>;

/** A webhook with a delivery. The one before is deleted, because an app has at most 20. */
async function createWebhook(): Promise<Values> {
  const { body: list } = await service.call('/webhooks');
  for (const { id } of list.data) await service.call(`/webhooks/${id}`, { method: 'DELETE' });
  const json = { url: receiver.url, events: ['org.created'] };
  const { id } = (await service.call('/webhooks', { method: 'POST', json })).body.data;
  await announce(service.database, 'acme-corporation');
  const delivery = await endedDelivery(service, id);
  return { id, deliveryId: delivery.id, eventId: delivery.event_id };
}
