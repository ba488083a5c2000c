import { test } from 'node:test';
import { testPublicUrl } from '../../service/test/support/service.ts';
import { assertReadable } from './support/accessibility.ts';
import { openPortal, signUp } from './support/portal-browser.ts';

/** axe's rules of them. Other tests look at the same pages with all rules. */
const colours = ['color-contrast', 'link-in-text-block'];

// As text, one is too light on a white page and the other too dark on a dark one.
for (const [color, colorScheme] of [
  ['#ffe066', 'light'],
  ['#2b0a3d', 'dark'],
] as const)
  test(`a ${colorScheme} page is readable with the brand's colour ${color}`, async () => {
    const { service, open } = await openPortal({ BRAND_COLOR: color, SERVICE_NAME: 'Herald' });
    const ada = await signUp(service, 'ada@example.org');
    const page = await open({ as: ada, path: '/apps', colorScheme });
    await page.getByRole('banner').getByText('Herald developers').waitFor();
    await page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
    await assertReadable(page, 'apps', colours);
    for (const path of ['/', '/status', '/docs/quick-start', '/docs/api/listOrgs', '/nothing']) {
      await page.goto(`${testPublicUrl}${path}`);
      await assertReadable(page, path, colours);
    }
  });
