/** Checks a page with axe's rules, and that it fits the screen. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

const script = await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/**
 * Two of the four combinations find everything: colours are the same at every width, and only colours depend on the
 * scheme.
 */
const variants = [
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const;

const dialog = '[role=dialog][aria-modal=true], dialog[open]';

/** An open dialog is checked alone: other tests look at the page behind it. */
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
    await assertReadable(page, where);
  }
  if (before) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null });
}

/**
 * At the width and in the colours that the page has. `rules`: some of axe's, where other tests look at the same page with
 * all.
 */
export async function assertReadable(page: Page, where: string, rules?: string[]): Promise<void> {
  assert.deepEqual(await violations(page, rules), [], where);
  await assertFits(page, where);
}

export async function assertFits(page: Page, where: string): Promise<void> {
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.equal(overflow, 0, `${where}: it is wider than the screen`);
}

async function violations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(script);
  const isDialogOpen = (await page.locator(dialog).count()) > 0;
  const given = { looksAt: isDialogOpen ? dialog : 'html', rules };
  return page.evaluate(async ({ looksAt, rules: values }) => {
    const { axe: loaded } = globalThis as unknown as { axe: typeof axe };
    // Details of violations only take a fifth of the time.
    const found = await loaded.run(looksAt, {
      resultTypes: ['violations'],
      ...(values && { runOnly: { type: 'rule', values } }),
    });
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${String(failureSummary)}`,
      ),
    );
  }, given);
}
