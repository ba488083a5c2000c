import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { fanOutToQueue } from '../../service/test/support/queue-steps.ts';
import { noBrowser } from '../../test/support/browser.ts';
import { assertAccessible } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

const options = { skip: noBrowser };
const portal = noBrowser ? null! : await openPortal();
const ada = noBrowser ? null! : await signUp(portal.service, 'ada@example.org');

async function post(path: string, json: object) {
  const { status, body } = await ada.call(path, { method: 'POST', json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

test(
  'filters are written, previewed, refused beside the field, saved and removed',
  options,
  async () => {
    const { id: appId } = await post('/apps', { name: 'Filtering' });
    const { id } = await post(`/apps/${appId}/webhooks`, { url: 'https://example.org/' });
    await put(
      portal.service.database,
      'orgs',
      [
        { name: 'Recruits', recruiting: true },
        { name: 'Rests', recruiting: false },
        { name: 'Sleeps', recruiting: false },
      ],
      { emitEvents: true },
    );
    await fanOutToQueue(portal.service.database);
    const page = await portal.open({ as: ada, path: `/apps/${appId}/webhooks/${id}/settings` });
    const section = page.getByRole('region', { name: 'Settings', exact: true });
    await section.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('textbox', { name: 'Filters' });
    const preview = page.getByRole('button', { name: 'Preview', exact: true });
    assert.ok(await preview.isDisabled());
    await field.fill('{ "org.created": ');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('This is not JSON').waitFor();

    await field.fill('{ "org.created": { "recruting": true } }');
    await preview.click();
    const problem = page.getByRole('alert').filter({ hasText: 'is no field of org.created' });
    await problem.getByText('The filters cannot be previewed', { exact: true }).waitFor();
    await field.fill('{ "org.created": { "recruting": true } } ');
    await problem.waitFor({ state: 'detached' });
    await preview.click();
    await problem.waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await problem.waitFor({ state: 'detached' });
    await page
      .getByText('org.created.recruting is no field of org.created; did you mean')
      .waitFor();
    await field.and(page.locator(':focus')).waitFor();
    await assertAccessible(page, 'a refused filter');

    await field.fill('{ "org.created": { "recruiting": true } }');
    await preview.click();
    await page.getByText('Would have sent 1 of the last 3 events.').waitFor();
    await assertAccessible(page, 'a previewed filter');
    // It was of all events.
    await page.getByLabel('Only selected events').check();
    await page.getByText('Would have sent').waitFor({ state: 'detached' });
    await page.getByLabel('All events this app can get').check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await section.getByText('"recruiting"').waitFor();
    await assertAccessible(page, 'a webhook with filters');

    await section.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(JSON.parse(await field.inputValue()), { 'org.created': { recruiting: true } });
    await field.fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await section.getByRole('button', { name: 'Edit' }).waitFor();
    const { body } = await ada.call(`/apps/${appId}/webhooks/${id}`);
    assert.equal(body.data.filters, null);
  },
);
