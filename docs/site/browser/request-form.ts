/** Sends the request of an operation's page to this server, without the parameters that are left empty. */
import {
  createTemporaryKey,
  forgetTemporaryKey,
  readTemporaryKey,
  RequestError,
  type TemporaryKey,
} from './temporary-key.ts';

type Control = HTMLInputElement | HTMLSelectElement;

export function startRequestForm(form: HTMLFormElement): void {
  const key = form.querySelector<HTMLInputElement>('[name="key"]');
  const status = form.querySelector('[role="status"]') as HTMLElement;
  const output = form.querySelector('pre') as HTMLElement;
  /** The temporary key in the field. */
  let temporary: TemporaryKey | null = null;
  let isRunning = false;
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run(() => sendWithKey(key?.value ?? null));
  });
  const button = form.querySelector<HTMLElement>('[data-temporary-key]');
  if (button && key) {
    fillIn(readTemporaryKey());
    button.addEventListener('click', () => {
      void run(async () => {
        const given =
          readTemporaryKey() ??
          (await createTemporaryKey(button.dataset['temporaryKey'] as string));
        fillIn(given);
        return { summary: `This key can read the directory until ${timeOf(given)}.` };
      });
    });
  }

  function fillIn(given: TemporaryKey | null): void {
    temporary = given;
    if (key && given) key.value = given.key;
  }

  async function sendWithKey(value: string | null): Promise<Outcome> {
    const isTemporary = temporary !== null && value === temporary.key;
    const outcome = await send(form, value);
    if (!isTemporary || outcome.status !== 401) return outcome;
    forgetTemporaryKey();
    throw new RequestError('The temporary key has expired or was revoked. Get another one.');
  }

  async function run(action: () => Promise<Outcome>): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    status.textContent = 'Please wait…';
    try {
      const { summary, body } = await action();
      status.textContent = summary;
      output.hidden = body === undefined;
      output.textContent = body ?? '';
    } catch (error) {
      output.hidden = true;
      status.textContent =
        error instanceof RequestError ? error.message : 'The service did not respond.';
    }
    isRunning = false;
  }
}

function timeOf({ expiresAt }: TemporaryKey): string {
  return new Date(expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

type Outcome = { summary: string; status?: number; body?: string };

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
  // `fetch` would fail as if there was no response.
  if (key !== null && !/^\w+$/.test(key.trim()))
    throw new RequestError('A key has letters, digits and _ only.');
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
  const { text, isWhole } = await readText(response);
  const ms = Math.round(performance.now() - started);
  const { status } = response;
  const rest = isStream(response)
    ? `. The stream goes on; this is what came within ${streamSeconds} seconds.`
    : `. The response is longer; this is its first ${shownKibMax} KiB.`;
  const summary = `Status ${status}, ${ms} ms${isWhole ? '' : rest}`;
  return { summary, status, body: isWhole ? indent(text) : text };
}

/** Room for openapi.json, the largest response except for downloads. Showing a whole download would stop the page for minutes. */
const shownKibMax = 512;

/** How long a stream is read, which does not end. */
const streamSeconds = 5;

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** Reads as much of a response as is shown. */
async function readText(response: Response): Promise<{ text: string; isWhole: boolean }> {
  const reader = response.body?.getReader();
  let isLate = false;
  if (isStream(response))
    setTimeout(() => {
      isLate = true;
      void reader?.cancel();
    }, streamSeconds * 1_000);
  const decoder = new TextDecoder();
  let text = '';
  let bytesLeft = shownKibMax * 1024;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (!value) return { text: text + decoder.decode(), isWhole: !isLate };
    text += decoder.decode(value.subarray(0, bytesLeft), { stream: true });
    bytesLeft -= value.length;
    if (bytesLeft >= 0) continue;
    await reader?.cancel();
    return { text, isWhole: false };
  }
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
