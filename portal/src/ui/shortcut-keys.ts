/**
 * Keys of one character, which work only while the focus is in the part of the page that they belong to, never in a text
 * field, and can be switched off (WCAG 2.1.4). The choice is kept in the browser.
 */
import { useLocalStorage } from '@mantine/hooks';
import type { KeyboardEvent } from 'react';

export function useShortcutKeys(): [areOn: boolean, setOn: (areOn: boolean) => void] {
  const [areOn, setOn] = useLocalStorage({
    key: 'shortcut-keys',
    defaultValue: true,
    getInitialValueInEffect: false,
  });
  return [areOn, setOn];
}

/** The handler for `onKeyDown`. `Escape` works also when the other keys are switched off. */
export function useKeys(actions: Record<string, () => void>) {
  const [areOn] = useShortcutKeys();
  return (event: KeyboardEvent) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const action = actions[key];
    if (!action || ctrlKey || metaKey || altKey || (!areOn && key !== 'Escape')) return;
    if (target instanceof Element && takesKey(target, key)) return;
    event.preventDefault();
    action();
  };
}

/** Text fields take all keys, and whatever scrolls or chooses by arrows takes those. */
function takesKey(target: Element, key: string): boolean {
  const isArrow = key.startsWith('Arrow');
  return target.matches(
    isArrow
      ? 'input, select, textarea, [role="region"], [role="radio"]'
      : 'input:not([type="checkbox"], [type="radio"]), select, textarea',
  );
}
