/** Sends the request of an operation's page to this server, without the parameters that are left empty. */
type Control = HTMLInputElement | HTMLSelectElement;

/** The temporary key is kept for the other pages of this tab. */
const storageKey = 'docs-temporary-key';

export function startRequestForm(form: HTMLFormElement): void {
  const key = form.querySelector<HTMLInputElement>('[name="key"]');
  const status = form.querySelector('[role="status"]') as HTMLElement;
  const output = form.querySelector('pre') as HTMLElement;
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run(() => send(form, key?.value ?? null));
  });
  const button = form.querySelector<HTMLElement>('[data-temporary-key]');
  if (button && key) {
    key.value = sessionStorage.getItem(storageKey) ?? '';
    button.addEventListener('click', () => {
      output.hidden = true;
      void run(async () => {
        key.value = await createTemporaryKey(button.dataset['temporaryKey'] as string);
        return { summary: 'This key can read the directory for 15 minutes.' };
      });
    });
  }

  async function run(action: () => Promise<Outcome>): Promise<void> {
    status.textContent = 'Please wait…';
    try {
      const { summary, body } = await action();
      status.textContent = summary;
      output.hidden = body === undefined;
      output.textContent = body ?? '';
    } catch (error) {
      status.textContent =
        error instanceof RequestError ? error.message : 'The service did not respond.';
    }
  }
}

type Outcome = { summary: string; body?: string };
class RequestError extends Error {}

async function send(form: HTMLFormElement, key: string | null): Promise<Outcome> {
  const { method = '', path = '' } = form.dataset;
  const controls = [...form.querySelectorAll<Control>('[data-in]')].filter(
    ({ value }) => value !== '',
  );
  const inPath = (name: string) => controls.find((control) => control.name === name)?.value ?? '';
  const query = new URLSearchParams(
    controls
      .filter((control) => control.dataset['in'] === 'query')
      .map(({ name, value }) => [name, value]),
  );
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(inPath(name)));
  const body = form.querySelector('textarea')?.value ?? null;
  const started = performance.now();
  const response = await fetch(`${address}${query.size > 0 ? `?${query}` : ''}`, {
    method,
    cache: 'no-store',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key.trim()}` }),
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body,
  });
  const text = await response.text();
  const ms = Math.round(performance.now() - started);
  return { summary: `Status ${response.status}, ${ms} ms`, body: indent(text) };
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Uses the first app for which the signed-in user may create keys. */
async function createTemporaryKey(portal: string): Promise<string> {
  const { data: apps } = await callPortal<{ id: string; role: string }[]>(`${portal}/apps`);
  const app = apps.find(({ role }) => role !== 'viewer');
  if (!app) throw new RequestError('Create an app in the developer portal first.');
  const { data } = await callPortal<{ key: string }>(
    `${portal}/apps/${app.id}/temporary-keys`,
    'POST',
  );
  sessionStorage.setItem(storageKey, data.key);
  return data.key;
}

async function callPortal<T>(address: string, method = 'GET'): Promise<{ data: T }> {
  const response = await fetch(address, { method });
  const body = await response.json();
  if (response.status === 401) throw new RequestError('Sign in to the developer portal first.');
  if (!response.ok) throw new RequestError(body.error.message);
  return body;
}
