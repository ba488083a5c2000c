/** Holds a page against axe's rules, light and dark, on a wide and on a narrow screen. */
import assert from 'node:assert/strict';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** Colours are the same at every width. */
const variants = [
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const;
/** The rest of the rules look at what is the same in both. */
const colourRules = ['color-contrast', 'link-in-text-block'];

export async function assertAccessible(page: Page, what: string): Promise<void> {
  const before = page.viewportSize();
  for (const { width, colorScheme } of variants) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    const where = `${what}, ${colorScheme}, ${width} px`;
    // Pages that the service renders itself follow the browser at once.
    const html = 'html[data-mantine-color-scheme';
    await page
      .locator(`${html}="${colorScheme}"], html:not([data-mantine-color-scheme])`)
      .waitFor();
    assert.deepEqual(await violations(page, colorScheme), [], where);
    assert.ok(await fits(page), `${where}: it is wider than the screen`);
  }
  if (before) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null });
}

async function violations(
  page: Page,
  scheme: (typeof variants)[number]['colorScheme'],
): Promise<string[]> {
  // Reporting only violations, and skipping frames, which the portal does not have, takes a fifth of the time.
  const builder = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] });
  if (scheme === 'dark') builder.withRules(colourRules);
  const found = await builder.analyze();
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  );
}

async function fits(page: Page): Promise<boolean> {
  return page.evaluate(
    'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
  );
}
