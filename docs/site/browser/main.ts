/** Everything on a page of the documentation that needs a script. The pages can be read without it. */
import { addCopyButtons } from './copy-buttons.ts';
import { startRequestForm } from './request-form.ts';
import { startSearch } from './search.ts';
import { shareTabChoice } from './tabs.ts';

const script = document.currentScript as HTMLScriptElement;
document.addEventListener('DOMContentLoaded', () => {
  startMenu();
  startSearch(script.dataset as { search: string; docs: string });
  shareTabChoice();
  addCopyButtons();
  for (const form of document.querySelectorAll<HTMLFormElement>('form.request'))
    startRequestForm(form);
});

function startMenu(): void {
  const menu = document.querySelector('#menu');
  const button = document.querySelector('#open-menu');
  button?.addEventListener('click', () => {
    button.setAttribute('aria-expanded', String(menu?.classList.toggle('open')));
  });
  // Only the menu scrolls: the page may have to show an anchor.
  const current = menu?.querySelector<HTMLElement>('[aria-current]');
  if (menu && current) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
}
