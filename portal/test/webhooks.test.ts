import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { verifyWebhook } from '@orgdir/client';
import { put } from '../../service/test/support/directory.ts';
import { sql } from '../../service/src/database/database.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startReceiver } from '../../service/test/support/receiver.ts';
import { version } from '../../service/src/runtime/version.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { create } from './support/create.ts';
import { comeBack, loseResponse, openPortal, portalUrl, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal({ WEBHOOK_DEACTIVATE_AFTER: '2' });
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');
const receiver = noBrowser ? null! : await startReceiver();

// Otherwise the events of one test go to the webhooks of all tests before.
if (!noBrowser)
  afterEach(async () => {
    await sql`
      update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' where active
    `.execute(portal.service.database);
  });

async function post(path: string, json: object, method = 'POST') {
  const { status, body } = await ada.call(path, { method, json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

/** Each test has its own app, because webhook tests are rate limited per app. */
async function makeApp(name: string): Promise<string> {
  return (await post('/apps', { name })).id;
}

async function makeWebhook(appId: string, fields: object = {}): Promise<string> {
  return (await post(`/apps/${appId}/webhooks`, { url: receiver.url, ...fields })).id;
}

async function webhookOf(appId: string, id: string) {
  return (await ada.call(`/apps/${appId}/webhooks/${id}`)).body.data;
}

type Tab = 'Deliveries' | 'Settings' | 'Signing' | 'Test';

async function openWebhook(
  appId: string,
  id: string,
  tab: Tab,
  { isNew = false } = {},
): Promise<Page> {
  const path = `/apps/${appId}/webhooks/${id}/${tab.toLowerCase()}`;
  const page = await portal.open({ as: ada, path, isNew });
  await page.getByRole('navigation', { name: 'Webhook sections' }).waitFor();
  return page;
}

function goTo(page: Page, tab: Tab): Promise<void> {
  const tabs = page.getByRole('navigation', { name: 'Webhook sections' });
  return tabs.getByRole('link', { name: tab }).click();
}

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const button = (within: Page | Locator, name: string) =>
  within.getByRole('button', { name, exact: true });

async function assertFocused(locator: Locator): Promise<void> {
  await locator.and(locator.page().locator(':focus')).waitFor();
}

let orgs = 0;
/** Publishes an organisation, which sends an event to every app. */
async function happen(): Promise<void> {
  orgs += 1;
  await put(portal.service.database, 'orgs', [{ name: `Organisation ${orgs}` }], {
    emitEvents: true,
  });
}

test(
  'a webhook is made: refusals stand beside their fields, and its secret is shown once',
  options,
  async () => {
    const appId = await makeApp('Announcer');
    const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks` });
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.getByRole('link', { name: 'New webhook' }).first().click();

    await assertFocused(page.getByRole('heading', { name: 'New webhook' }));
    await page.getByLabel('Only selected events').check();
    await button(page, 'Create webhook').click();
    await page.getByText('Enter the URL of your server.').waitFor();
    await page.getByText('Choose at least one event.').waitFor();
    await assertFocused(page.getByLabel('URL'));
    await page.getByLabel('URL').fill('https://name:secret@example.org/');
    await button(page, 'Create webhook').click();
    await assertFocused(page.getByRole('checkbox').first());
    await button(page, 'Select all for every app').click();
    assert.ok(await page.getByLabel('blueprint.sync.completed').isChecked());
    await page.getByLabel('chat.sync.completed').uncheck();
    await button(page, 'Create webhook').click();
    await page.getByText('The URL must not contain credentials').waitFor();
    await assertFocused(page.getByLabel('URL'));
    await assertAccessible(page, 'a refused webhook');

    await page.getByText('It must start with https:// or http://').waitFor();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Description').fill('Announces things');
    // The secret waits for nothing that is read again.
    const read = Promise.withResolvers<void>();
    const app = `**/portal/api/apps/${appId}`;
    await page.route(app, async (route) => {
      await read.promise;
      await route.continue();
    });
    await button(page, 'Create webhook').click();
    const shown = page.getByRole('heading', { name: 'The secret of your webhook' });
    await assertFocused(shown);
    read.resolve();
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    assert.match(secret, /^whsec_.{44}$/);
    await assertAccessible(page, 'a secret');

    await button(page, "Done, I've saved it").click();
    await page.getByRole('heading', { name: 'Announces things', level: 1 }).waitFor();
    assert.ok(!(await page.content()).includes(secret));
    const tarball = `/client/orgdir-client-${version}.tgz`;
    const command = await page.getByText(/^npx --yes .* listen --forward-to /).textContent();
    assert.equal(new URL(command?.split(' ')[2] ?? '').pathname, tarball);
    assert.equal((await fetch(`${portal.service.url}${tarball}`)).status, 200);

    await section(page, 'Send a test').getByLabel('Sample event').selectOption('org.created');
    const before = receiver.received.length;
    await button(page, 'Send a test').click();
    await section(page, 'Send a test').getByText('Accepted with 200').last().waitFor();
    await assertFocused(button(page, 'Send a test'));
    const { headers, body } = receiver.received[before]!;
    const event = await verifyWebhook({ headers, body, secret });
    assert.equal(event.event, 'webhook.test');
    const sent = section(page, 'Send a test');
    await sent.getByText('Body, exactly as sent').first().click();
    await sent.getByText('Request headers').click();
    await sent.getByText(body.toString(), { exact: true }).waitFor();
    await sent.getByText(headers['user-agent'] ?? 'none', { exact: true }).waitFor();
    assert.equal(await sent.getByText(headers['webhook-id'] ?? 'none', { exact: true }).count(), 2);
    await assertAccessible(page, 'the result of a test');
    await goTo(page, 'Settings');
    await section(page, 'Settings').getByText('system.maintenance.disabled').waitFor();
    assert.equal(await section(page, 'Settings').getByText('chat.sync.completed').count(), 0);
    assert.equal(await page.title(), 'Settings · Announces things · Service developers');
    await goTo(page, 'Deliveries');
    await page.getByRole('link', { name: 'webhook.test' }).waitFor();

    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Webhooks of Announcer' }).waitFor();
    await page.getByText('Announces things').waitFor();
    await page.getByText('New', { exact: true }).waitFor();
  },
);

test(
  'what the app may not have is greyed, with the reason in words; once bound it is not',
  options,
  async () => {
    const appId = await makeApp('Bound later');
    await put(portal.service.database, 'orgs', [
      { slug: 'acme', name: 'Acme', managers: [ada.email] },
    ]);
    const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks/new` });
    await page.getByLabel('Only selected events').check();
    const group = page.getByRole('group', { name: 'For apps of an organisation' });
    await group.getByText('bound to an organization').first().waitFor();
    const box = group.getByRole('checkbox', { name: 'application.created' });
    assert.ok(await box.isDisabled());
    const described = await box.getAttribute('aria-describedby');
    const reason = page.locator(`[id="${described?.split(' ').at(-1)}"]`);
    assert.match((await reason.textContent()) ?? '', /Not available: .*bound to an organization/);
    assert.equal(await group.getByRole('button').count(), 0);
    await post(`/apps/${appId}/binding`, { kind: 'organization', slug: 'acme' }, 'PUT');
    await page.reload();
    await page.getByLabel('Only selected events').check();
    await button(page, 'Select all for apps of an organisation').click();
    assert.ok(await box.isChecked());
    assert.ok(await page.getByRole('checkbox', { name: 'resource.offer.created' }).isDisabled());
  },
);

test('a busy button keeps the focus and does nothing', options, async () => {
  const pending = Promise.withResolvers<void>();
  const slow = await startReceiver((response) => {
    void pending.promise.then(() => response.writeHead(204).end());
  });
  const appId = await makeApp('Busy');
  const page = await openWebhook(appId, await makeWebhook(appId, { url: slow.url }), 'Test');
  const send = button(section(page, 'Send a test'), 'Send a test');
  await send.press('Enter');
  await send.and(page.locator('[aria-disabled=true]:focus')).waitFor();
  await page.keyboard.press('Enter');
  pending.resolve();
  await page.getByText('Accepted with 204').first().waitFor();
  await assertFocused(send);
  assert.equal(slow.received.length, 1);
});

test('a failed test says in words what went wrong and what to check', options, async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port: closedPort } = silent.address() as { port: number };
  silent.close();
  const moody = await startReceiver();
  const appId = await makeApp('Failing');
  const id = await makeWebhook(appId, { url: moody.url });
  const page = await openWebhook(appId, id, 'Test');
  const tested = section(page, 'Send a test');

  async function fails(title: string | RegExp, advice: RegExp): Promise<void> {
    await button(tested, 'Send a test').click();
    await tested.getByRole('status').filter({ hasText: title }).waitFor();
    await tested.getByText(title).last().waitFor();
    await tested.getByText(advice).waitFor();
  }

  moody.respond = (response) =>
    response
      .writeHead(500, { 'content-type': 'text/html', 'x-from': 'the receiver' })
      .end('<h1>Oh no</h1><script>document.title = "run"</script>');
  await fails('Your server failed (500)', /Check its logs/);
  await tested.getByText('<h1>Oh no</h1><script>').waitFor();
  await tested.getByText('Response headers').click();
  await tested.getByText('the receiver', { exact: true }).waitFor();
  await assertAccessible(page, 'a failed test');
  await post(`/apps/${appId}/webhooks/${id}`, { url: `http://127.0.0.1:${closedPort}/` }, 'PATCH');
  await fails('Connection refused', /nothing listens on the port/);
  await tested.getByText('There was no response.').waitFor();
  assert.equal((await webhookOf(appId, id)).exhaustedInARow, 0);
});

test('it is edited, deactivated and reactivated', options, async () => {
  const appId = await makeApp('Edited');
  const id = await makeWebhook(appId);
  const page = await openWebhook(appId, id, 'Settings');
  const settings = section(page, 'Settings');
  await button(settings, 'Edit').click();
  await assertFocused(settings.getByLabel('URL'));
  await settings.getByLabel('URL').fill('not an address');
  await button(settings, 'Save').click();
  await settings.getByText('The URL must').waitFor();
  await settings.getByLabel('URL').fill(`${receiver.url}/other`);
  await settings.getByLabel('Only selected events').check();
  await settings.getByLabel('alliance.created').check();
  await settings.getByLabel('Description').fill('Alliances');
  await button(settings, 'Save').click();
  await settings.getByText(`${receiver.url}/other`, { exact: true }).waitFor();
  await assertFocused(page.getByRole('heading', { name: 'Settings' }));
  const { url, events, description } = await webhookOf(appId, id);
  assert.deepEqual(
    [url, events, description],
    [`${receiver.url}/other`, ['alliance.created'], 'Alliances'],
  );

  await button(settings, 'Edit').click();
  await settings.getByLabel('Description').fill('Lost');
  const leaving = page.getByRole('dialog', { name: 'Leave without saving your changes?' });
  await page.getByRole('link', { name: 'Deliveries', exact: true }).first().click();
  await assertAccessible(page, 'the question before changes are lost');
  await button(leaving, 'Stay').click();
  await leaving.waitFor({ state: 'detached' });
  assert.equal(await settings.getByLabel('Description').inputValue(), 'Lost');
  await button(settings, 'Cancel').click();
  await settings.getByText('Alliances', { exact: true }).waitFor();

  await button(page, 'Deactivate').click();
  await assertFocused(button(page.getByRole('dialog'), 'Cancel'));
  await button(page.getByRole('dialog'), 'Deactivate').click();
  await page.getByText('Deactivated: by a member or an API key').waitFor();
  await assertFocused(button(page, 'Reactivate'));
  assert.equal((await webhookOf(appId, id)).deactivatedReason, 'owner');
  await button(page, 'Reactivate').click();
  await page.getByText('New', { exact: true }).waitFor();
  await assertFocused(button(page, 'Deactivate'));
  assert.equal((await webhookOf(appId, id)).active, true);
});

test(
  'what somebody else changes while a form is open stays as they changed it',
  options,
  async () => {
    const appId = await makeApp('Edited twice');
    const id = await makeWebhook(appId, { description: 'First' });
    const page = await openWebhook(appId, id, 'Settings', { isNew: true });
    const settings = section(page, 'Settings');
    await button(settings, 'Edit').click();
    await settings.getByLabel('Only selected events').check();
    await settings.getByLabel('alliance.created').check();
    await post(`/apps/${appId}/webhooks/${id}`, { description: 'Second' }, 'PATCH');
    // What was read a moment ago is not read again.
    await page.clock.setFixedTime(Date.now() + 60_000);
    await comeBack(page);
    await page.getByRole('heading', { name: 'Second' }).waitFor();
    await button(settings, 'Save').click();
    await settings.getByText('Second', { exact: true }).waitFor();
    const { description, events } = await webhookOf(appId, id);
    assert.deepEqual([description, events], ['Second', ['alliance.created']]);
    // Nobody may have more apps than the other tests make.
    await ada.call(`/apps/${appId}`, { method: 'DELETE' });
  },
);

test(
  'its secret is replaced with an overlap, and deliveries carry both signatures',
  options,
  async () => {
    const appId = await makeApp('Rotated');
    const id = await makeWebhook(appId);
    const page = await openWebhook(appId, id, 'Signing');
    const secrets = section(page, 'Secret and signatures');
    await button(secrets, 'Rotate the secret').click();
    const dialog = page.getByRole('dialog', { name: 'Rotate the secret' });
    assert.ok(await dialog.getByLabel('24 hours').isChecked());
    await dialog.getByLabel('1 hour').check();
    // The secret waits for nothing that is read again.
    let goOn = () => {};
    const reads = new Promise<void>((resolve) => (goOn = resolve));
    const others = `**/portal/api/apps/${appId}/webhooks/${id}`;
    await page.route(others, async (route) => {
      await reads;
      await route.continue();
    });
    await button(dialog, 'Rotate the secret').click();
    await assertFocused(page.getByRole('heading', { name: 'The new secret' }));
    goOn();
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    await page.unroute(others);
    // Asking again takes nothing away; what is shown goes when another takes its place.
    await button(secrets, 'Rotate the secret').press('Enter');
    await button(dialog, 'Cancel').click();
    await assertFocused(button(secrets, 'Rotate the secret'));
    assert.equal(await page.getByTestId('secret').textContent(), secret);
    await secrets.getByText(/expires in (59 minutes|1 hour)/).waitFor();
    await button(secrets, "Done, I've saved it").click();
    await assertFocused(button(secrets, 'Rotate the secret'));
    assert.ok(!(await page.content()).includes(secret));
    await post(`/apps/${appId}/webhooks/${id}/test`, {});
    const { headers, body } = receiver.received.at(-1)!;
    assert.equal(headers['webhook-signature']?.split(' ').length, 2);
    await verifyWebhook({ headers, body, secret });
    await button(secrets, 'Rotate the secret').click();
    await button(dialog, 'Rotate the secret').click();
    await assertFocused(page.getByRole('heading', { name: 'The new secret' }));
    const another = (await page.getByTestId('secret').textContent()) ?? '';
    await button(secrets, 'Rotate the secret').click();
    await button(dialog, 'Rotate the secret').click();
    await secrets.getByText(another).waitFor({ state: 'detached' });
    await assertFocused(page.getByRole('heading', { name: 'The new secret' }));

    await refuseTwice(page, /signature-snippets/);
    await secrets.getByText('Receivers that check signatures').click();
    await secrets.getByText('This part could not be loaded').waitFor();
    await assertAccessible(page, 'a part that could not be loaded');
    await button(secrets, 'Try again').click();
    const tabs = secrets.getByRole('tablist', { name: 'Languages' });
    await tabs.waitFor();
    await assertAccessible(page, 'receivers to copy');
    // Where the focus was kept, the next stop is what came.
    await page.keyboard.press('Tab');
    await assertFocused(tabs.getByRole('tab', { name: 'TypeScript' }));
    await page.keyboard.press('ArrowRight');
    await secrets.getByText('import hmac').waitFor();
    await assertFocused(tabs.getByRole('tab', { name: 'Python' }));
  },
);

/** As where the connection is away: the page repeats it by itself once. */
async function refuseTwice(page: Page, script: RegExp): Promise<void> {
  await page.route(script, (route) => route.abort(), { times: 2 });
}

test(
  'one that keeps failing says so, is deactivated with the reason, and is made active again',
  options,
  async () => {
    const broken = await startReceiver((response) => response.writeHead(500).end());
    const appId = await makeApp('Deactivated');
    const id = await makeWebhook(appId, { url: broken.url });
    await happen();
    await eventually(async () => (await webhookOf(appId, id)).exhaustedInARow === 1);
    const page = await openWebhook(appId, id, 'Deliveries', { isNew: true });
    await button(page, '1 delivery failed').click();
    await page.getByText('Failing: 1 delivery failed').waitFor();
    await happen();
    await eventually(async () => !(await webhookOf(appId, id)).active);
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByText('Too many deliveries failed').waitFor();
    await page.getByText('Deactivated', { exact: true }).waitFor();
    await page.clock.install();
    await page.getByRole('link', { name: new URL(broken.url).host }).click();
    // What was read a moment ago is shown until it is read again.
    await button(page, '1 delivery failed').waitFor();
    await page.clock.fastForward(20_000);
    await button(page, 'Too many deliveries failed').click();
    await page.getByText('Deactivated: too many deliveries failed').waitFor();
    const probed = page.getByText('The service probes it, next in');
    await probed.waitFor();
    await assertAccessible(page, 'a deactivated webhook');
    const late = `**/webhooks/${id}`;
    await page.route(late, async (route) => {
      const data = { ...(await webhookOf(appId, id)), nextProbeAt: new Date(0).toISOString() };
      await route.fulfill({ json: { success: true, data } });
    });
    await page.reload();
    await button(page, 'Too many deliveries failed').click();
    await page.getByText('A probe is due, and the service has not been able to make it').waitFor();
    await page.unroute(late);
    await page.reload();
    await button(page, 'Too many deliveries failed').click();
    await probed.waitFor();
    await page.getByRole('link', { name: 'the settings' }).click();
    const outage = section(page, 'After an outage');
    assert.equal(await outage.getByLabel('Automatic replay').isChecked(), false);
    await assertAccessible(page, 'self-healing');
    await outage.getByRole('switch', { name: /^Self-healing/ }).click();
    await probed.waitFor({ state: 'detached' });
    await outage.getByRole('switch', { name: /^Automatic replay/ }).click();
    await eventually(async () => (await webhookOf(appId, id)).replayAfterHealing);
    assert.equal((await webhookOf(appId, id)).selfHealing, false);
    await button(page, 'Reactivate').click();
    await page.getByText('Retrying: the last attempt failed').waitFor();
    assert.equal((await webhookOf(appId, id)).exhaustedInARow, 0);

    broken.respond = (response) => response.writeHead(410).end();
    await happen();
    await eventually(async () => !(await webhookOf(appId, id)).active);
    await page.reload();
    await page.getByText('Deactivated: your server responded with 410 Gone').waitFor();
  },
);

test('a signature is checked in the browser alone, and why it fails is said', options, async () => {
  const appId = await makeApp('Checked');
  const { id, secret } = await post(`/apps/${appId}/webhooks`, { url: receiver.url });
  await post(`/apps/${appId}/webhooks/${id}/test`, { event: 'org.created' });
  const { headers, body } = receiver.received.at(-1)!;
  const page = await openWebhook(appId, id, 'Signing', { isNew: true });
  const check = section(page, 'Check a signature');
  await check.getByText('nothing you paste is sent').waitFor();
  await check.getByText('Paste a delivery').last().click();
  await check.getByRole('textbox', { name: 'Headers' }).waitFor();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.postData() ?? request.url()));

  async function says(
    title: string,
    pasted: Partial<Record<'Headers' | 'Body' | 'Secret', string>>,
  ) {
    const given = { Headers: asLines(headers), Body: body.toString(), Secret: secret, ...pasted };
    for (const [label, value] of Object.entries(given))
      await check.getByRole('textbox', { name: label }).fill(value);
    await button(check, 'Check the signature').click();
    await check.getByRole('status').getByText(title).waitFor();
  }

  await says('The signature is valid, and the delivery is fresh', {});
  await says('Most likely the wrong secret', { Secret: `whsec_${btoa('x'.repeat(32))}` });
  await says('This is not a webhook secret', { Secret: 'hunter2' });
  await says('The body was changed', { Body: `${body.toString()}\n` });
  await says('The body was changed', { Body: JSON.stringify(JSON.parse(String(body)), null, 2) });
  await says('The header webhook-id is missing', {
    Headers: asLines({ ...headers, 'webhook-id': undefined }),
  });
  await says('Another header was changed', {
    Headers: asLines({
      ...headers,
      'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1),
    }),
  });
  await assertAccessible(page, 'a checked signature');
  await page.clock.setFixedTime(Date.now() + 3 * 3_600_000);
  await says('The signature is valid, but too old', {});
  await check.getByText('signed 3 hours ago').waitFor();
  assert.ok(!requests.some((each) => each.includes(headers['webhook-id'] ?? '')));
  assert.ok(!requests.some((each) => each.includes(secret)));
});

function asLines(headers: Record<string, string | undefined>): string {
  return Object.entries(headers)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}`))
    .join('\n');
}

test(
  'it is deleted once that is confirmed, and gone where it was open elsewhere',
  options,
  async () => {
    const appId = await makeApp('Deleted');
    const id = await makeWebhook(appId);
    const elsewhere = await openWebhook(appId, id, 'Settings');
    const page = await openWebhook(appId, id, 'Settings');
    await button(page, 'Delete webhook').click();
    const dialog = page.getByRole('dialog');
    await assertFocused(button(dialog, 'Cancel'));
    await button(dialog, 'Cancel').click();
    assert.equal((await webhookOf(appId, id)).id, id);
    await button(page, 'Delete webhook').click();
    await button(dialog, 'Delete webhook').click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await assertFocused(page.getByRole('heading', { level: 1 }));
    await page.goBack();
    await elsewhere.reload();
    await elsewhere.getByRole('heading', { name: 'No such webhook' }).waitFor();
    await elsewhere.getByText('Not found', { exact: true }).waitFor();
    assert.equal(await elsewhere.getByRole('navigation', { name: 'Webhook sections' }).count(), 0);
  },
);

test(
  'many webhooks fit on a screen: the broken first, with numbers, and found, until there are as many as may be',
  options,
  async () => {
    // Nobody may have more apps than Ada.
    const bob = await signUp(portal.service, 'bob@example.org');
    const { id: appId } = await create(bob, '/apps', { name: 'Crowded' });
    const make = (url: string, description: string) =>
      create(bob, `/apps/${appId}/webhooks`, { url, description });
    for (let count = 1; count < 19; count += 1) await make(receiver.url, `Announcer ${count}`);
    const broken = await startReceiver((response) => response.writeHead(500).end());
    const { id } = await make(broken.url, 'Broken');
    await happen();
    await eventually(async () => {
      const { body } = await bob.call(`/apps/${appId}/webhooks/${id}`);
      return body.data.health === 'failing' || null;
    });
    const page = await portal.open({
      as: bob,
      path: `/apps/${appId}/webhooks`,
      viewport: { width: 1280, height: 800 },
    });
    const rows = page.getByRole('table').getByRole('row');
    const worst = rows.nth(1);
    await worst.getByRole('link', { name: 'Broken' }).waitFor();
    await worst.getByText('Failing').waitFor();
    await worst.getByText('1 delivery failed').waitFor();
    await worst.getByText('0 %').waitFor();
    await rows.filter({ hasText: 'Announcer 9' }).getByText('100 %').waitFor();
    const boxes = await Promise.all((await rows.all()).map((row) => row.boundingBox()));
    const onScreen = boxes.filter((box) => box && box.y + box.height <= 800);
    // One is the heading.
    assert.ok(onScreen.length >= 1 + 15, `${onScreen.length - 1} webhooks on the screen`);
    const search = page.getByRole('searchbox', { name: 'Search webhooks' });
    await search.fill('ANNOUNCER 17');
    await eventually(async () => (await rows.count()) === 2 || null);
    await search.fill('nothing');
    await page.getByText('No webhook matches.').waitFor();
    await search.fill('');
    await page.setViewportSize({ width: 1100, height: 800 });
    const health = worst.getByRole('cell').nth(1);
    const [width, needed] = await health.evaluate((cell) => [cell.clientWidth, cell.scrollWidth]);
    assert.equal(needed, width, 'the reason covers the chart');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole('listitem').filter({ hasText: 'Announcer 9' }).waitFor();

    // It has 19 of the 20 that it may have. One lost its response, and is made once.
    await page.goto(`${portalUrl}/apps/${appId}/webhooks/new`);
    await page.getByLabel('URL').fill(receiver.url);
    await loseResponse(page, 'POST', `/apps/${appId}/webhooks`);
    await button(page, 'Create webhook').click();
    await page.getByText('it is done only once').waitFor();
    await button(page, 'Create webhook').click();
    await page.getByRole('heading', { name: 'The secret of your webhook' }).waitFor();
    const { body } = await bob.call(`/apps/${appId}/webhooks`);
    assert.equal(body.data.length, 20);
    await page.goto(`${portalUrl}/apps/${appId}/webhooks/new`);
    await page.getByText('This app has 20 webhooks').waitFor();
    assert.equal(await page.getByLabel('URL').count(), 0);
    await page.getByRole('link', { name: 'Delete one' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.getByText('This app has 20 webhooks').waitFor();
    assert.equal(await page.getByRole('link', { name: 'New webhook' }).count(), 0);
  },
);
