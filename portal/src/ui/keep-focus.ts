/**
 * A button that is busy is disabled, and browsers take the focus from what is disabled: whoever goes by keyboard or by ear
 * would be at the top of the page again. It gets the focus back with the end of the work, where nothing else has taken it.
 */
export function keepFocus(): void {
  let last: EventTarget | null = null;
  document.addEventListener('focusin', ({ target }) => {
    last = target;
  });
  // Who clicks beside everything has left it.
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
