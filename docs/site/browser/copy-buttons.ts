/** As long as the developer portal shows it. */
const shownMs = 3_000;

export function addCopyButtons(): void {
  const status = document.createElement('p');
  status.role = 'status';
  status.className = 'for-screen-readers';
  document.body.append(status);
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      void copy(block.querySelector('code') as HTMLElement, button, status);
    });
    block.append(button);
  }
}

async function copy(code: HTMLElement, button: HTMLElement, status: HTMLElement): Promise<void> {
  const isCopied = await writeClipboard(code.textContent);
  if (!isCopied) getSelection()?.selectAllChildren(code);
  const outcome = isCopied ? 'Copied' : 'Not copied: the text is selected';
  button.textContent = outcome;
  status.textContent = outcome;
  setTimeout(() => {
    button.textContent = 'Copy';
    status.textContent = '';
  }, shownMs);
}

/** Browsers have no clipboard on plain HTTP, except on the own machine, and may refuse it. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
