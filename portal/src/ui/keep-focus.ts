/**
 * Returns the focus to a button that was disabled while busy. Browsers blur disabled elements, which would send keyboard and
 * screen reader users back to the top of the page.
 */
export function keepFocus(): void {
  let last: EventTarget | null = null;
  document.addEventListener('focusin', ({ target }) => {
    last = target;
  });
  // A click elsewhere gives up the focus on purpose.
  document.addEventListener('pointerdown', ({ target }) => {
    if (!(last instanceof Node && target instanceof Node && last.contains(target))) last = null;
  });
  new MutationObserver((changes) => {
    for (const { target } of changes)
      if (target === last && target instanceof HTMLButtonElement) giveBack(target);
  }).observe(document, { attributeFilter: ['disabled'], subtree: true });
}

function giveBack(button: HTMLButtonElement): void {
  if (!button.disabled && document.activeElement === document.body) button.focus();
}
