/** Uses a page by keyboard alone. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

/** More stops than any page has. */
const stopsMax = 150;

/** Presses Tab, or Shift+Tab, until the element has the focus, and checks that the focus is visible. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stops = 0; stops < stopsMax; stops += 1) {
    const key = await keyTowards(target);
    if (key === null) return assertVisible(target);
    await page.keyboard.press(key);
  }
  assert.fail(`Tab never comes to ${String(target)}`);
}

export async function pressOn(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

export async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.insertText(text);
}

/** Null if the element has the focus. */
function keyTowards(target: Locator): Promise<'Tab' | 'Shift+Tab' | null> {
  return target.evaluate((element) => {
    const focused = element.ownerDocument.activeElement;
    if (focused === element) return null;
    const isPast = element.compareDocumentPosition(focused) & element.DOCUMENT_POSITION_FOLLOWING;
    return isPast ? 'Shift+Tab' : 'Tab';
  });
}

/** In the window, and marked. */
async function assertVisible(target: Locator): Promise<void> {
  const seen = await target.evaluate((element) => {
    const { top, bottom, left, right } = element.getBoundingClientRect();
    const { innerHeight, innerWidth } = element.ownerDocument.defaultView!;
    return bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  });
  assert.ok(seen, `${String(target)} has the focus and cannot be seen`);
}
