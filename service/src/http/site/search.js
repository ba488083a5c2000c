// Searches while somebody types. Without this script, the form loads the same results as a page.
const form = document.querySelector('form');
const delayMs = 150;
let running = new AbortController();
let typing;

form.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => void search(), delayMs);
});

async function search() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const given = [...new FormData(form)].filter(([, value]) => value.trim() !== '');
  const query = new URLSearchParams(given).toString();
  const address = query === '' ? form.action : `${form.action}?${query}`;
  try {
    const response = await fetch(address, { signal });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (!response.ok) throw new Error(`status ${response.status}`);
    if (signal.aborted) return;
    for (const part of document.querySelectorAll('[data-live]'))
      part.replaceChildren(...page.getElementById(part.id).childNodes);
    history.replaceState(null, '', address);
  } catch {
    if (!signal.aborted)
      document.querySelector('#results').textContent = 'The search is not available at the moment.';
  }
}
