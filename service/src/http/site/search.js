// Searches while somebody types. Without this script, the form loads the same results as a page.
const form = document.querySelector('form');
const results = document.querySelector('#results');
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
  const q = new FormData(form).get('q').trim();
  if (q === '') return results.replaceChildren();
  try {
    const response = await fetch(`${form.action}?${new URLSearchParams({ q })}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const found = page.querySelector('#results');
    if (!found) throw new Error(`status ${response.status}`);
    if (!signal.aborted) results.replaceChildren(...found.childNodes);
  } catch {
    if (!signal.aborted) results.textContent = 'The search is not available at the moment.';
  }
}
