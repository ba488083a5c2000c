/** The current maintenance, as the start page and the status page show it. */
import type { Status } from '../../contract/status.ts';
import { formatTime, html, type Html } from './page.ts';

export function renderMaintenance({
  message,
  expectedEnd,
}: NonNullable<Status['maintenance']>): Html {
  const end = expectedEnd === null ? '' : ` It is expected to end at ${formatTime(expectedEnd)}.`;
  return html`<p class="notice">
    <strong>Maintenance.</strong> ${message ?? 'The API is not available at the moment.'}${end}
  </p>`;
}
