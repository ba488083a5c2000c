import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { verifyWebhook } from '@orgdir/client';
import { sql } from '../../service/src/database/database.ts';
import { publishEvent } from '../../service/src/directory/publish-in-groups.ts';
import { announce, put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { tokenOf } from '../../service/test/support/portal.ts';
import { startReceiver, type Received } from '../../service/test/support/receiver.ts';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { startSmtpServer } from '../../service/test/support/smtp-server.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { openPortal, password, portalUrl } from './support/portal-browser.ts';

const mail = noBrowser ? null! : await startSmtpServer();
/** One delivery that fails for good deactivates a webhook. */
const portal = noBrowser
  ? null!
  : await openPortal({
      WEBHOOK_DEACTIVATE_AFTER: '1',
      SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
      MAIL_FROM: 'Directory <no-reply@example.org>',
    });
const email = 'grace@example.org';
const application = {
  id: 'a-1',
  applicantHandle: 'hopper',
  submittedAt: '2026-11-21T12:00:00.000Z',
};

test('from signing up to the recovery of what failed', { skip: noBrowser }, async () => {
  const { service } = portal;
  const { database } = service;
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', managers: [email] }]);
  const receiver = await startReceiver();
  const page = await portal.open();

  await signUp(page);
  await page.getByRole('button', { name: 'Create your first app' }).click();
  await page.getByLabel('Name').fill('Announcer');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByRole('heading', { name: 'Announcer', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Bind to Acme' }).click();
  await page.getByText('Bound to Acme.').waitFor();

  await page.getByRole('link', { name: 'Create a key' }).click();
  await page.getByRole('heading', { name: 'Keys of Announcer' }).waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('Server');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = await readSecret(page, 'Your new key: Server');
  assert.equal((await service.call('/orgs', { key })).status, 200);
  await page.getByRole('button', { name: "Done, I've saved it" }).click();

  await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  await page.getByRole('link', { name: 'New webhook' }).first().click();
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const secret = await readSecret(page, 'The secret of your webhook');
  await page.getByRole('button', { name: "Done, I've saved it" }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('Accepted with 200').first().waitFor();
  assert.equal((await verified(receiver.received[0], secret)).event, 'webhook.test');

  await database.transaction().execute((tx) =>
    publishEvent(tx, {
      name: 'application.created',
      org: 'acme',
      alliance: null,
      data: application,
      publicUrl: testPublicUrl,
    }),
  );
  const arrived = await verified((await receiver.waitFor(2))[1], secret);
  assert.equal(arrived.event, 'application.created');

  receiver.respond = (response) => response.writeHead(500).end('database is locked');
  await announce(database);
  const webhookId = new URL(page.url()).pathname.split('/').at(-2) ?? '';
  await deactivated(webhookId);
  await page.reload();
  await page.getByText('Deactivated: too many deliveries failed').waitFor();
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
  await page.getByRole('link', { name: 'org.created' }).click();
  await page.getByText('database is locked').first().waitFor();
  const attempts = page.getByRole('radiogroup', { name: 'Attempt' }).getByRole('radio');
  assert.equal(await attempts.count(), 6);

  receiver.respond = (response) => response.writeHead(204).end();
  const before = receiver.received.length;
  await page.goBack();
  await page.getByRole('button', { name: 'Recover…' }).click();
  await page.getByText('1 delivery will be sent again.').waitFor();
  await page.getByRole('button', { name: 'Reactivate and resend 1' }).click();
  await page.getByText('1 delivery is being sent again.').waitFor();
  const recovered = await verified((await receiver.waitFor(before + 1))[before], secret);
  assert.equal(recovered.event, 'org.created');
  await page.getByRole('button', { name: 'Done' }).click();
  const row = page
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name: 'org.created' }) });
  await row.getByText('Succeeded').waitFor();
});

async function signUp(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Sign up' }).click();
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Send link' }).click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  await page.getByText(`We sent a link to ${email}. It works once, within an hour.`).waitFor();
  const [received] = await mail.received(1);
  await page.goto(`${portalUrl}/set-password#${tokenOf(received?.text ?? '')}`);
  await page.getByLabel('Name').fill('Grace');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
}

function deactivated(webhookId: string): Promise<unknown> {
  return eventually(async () => {
    const { rows } = await sql`select from webhooks where id = ${webhookId} and not active`.execute(
      portal.service.database,
    );
    return rows.length > 0;
  });
}

/** Waits until the heading has the focus, so that screen readers announce it, and reads the secret. */
async function readSecret(page: Page, title: string): Promise<string> {
  await page.getByRole('heading', { name: title }).and(page.locator(':focus')).waitFor();
  return page.getByTestId('secret').innerText();
}

async function verified(received: Received | undefined, secret: string) {
  assert.ok(received);
  const { headers, body } = received;
  return verifyWebhook({ body, headers, secret });
}
