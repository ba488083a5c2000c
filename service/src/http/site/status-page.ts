/** The page at `/status`: whether the service works, and how deliveries went lately. */
import type { Announcement, Status } from '../../contract/status.ts';
import { severityLabels } from '../../contract/announcement.ts';
import { statusDays } from '../../contract/periods.ts';
import type { ServicePeriod, ServiceStats } from '../../webhooks/management/service-stats.ts';
import {
  type Html,
  type Site,
  formatTime,
  html,
  noExtras,
  renderMaintenance,
  renderPage,
} from './page.ts';

export type StatusContent = {
  state: Status['status'];
  components: Status['components'];
  maintenance: Status['maintenance'];
  announcements: Status['announcements'];
  /** Null if the database is away. */
  history: { stats: ServiceStats; past: { since: string; endedAt: string }[] } | null;
};

const titles = {
  ok: 'Everything works',
  degraded: 'There is a problem',
  maintenance: 'Under maintenance',
};
const databaseStates = { ok: 'Available', unavailable: 'Not available at the moment' };
const deliveryStates = {
  ok: 'On time',
  delayed: 'Delayed: some deliveries are over a minute late',
  unavailable: 'Not known at the moment',
};

export function renderStatus(site: Site, content: StatusContent): string {
  const { state, components, maintenance, announcements, history } = content;
  const body = html` <h1 class="state ${state}">${titles[state]}</h1>
    ${maintenance ? renderMaintenance(maintenance) : html``}
    ${announcements.map(renderAnnouncement)}
    <div class="aside">
      <aside aria-label="Now and past maintenance">
        <h2>Now</h2>
        <table>
          <tbody>
            ${rowOf('Directory', databaseStates[components.database])}
            ${rowOf('Webhook deliveries', deliveryStates[components.deliveries])}
            ${rowOf('Last blueprint sync', formatLast(components.blueprintSync.lastCompletedAt))}
            ${rowOf('Last chat sync', formatLast(components.chatSync.lastCompletedAt))}
          </tbody>
        </table>
        ${history ? renderPast(history.past) : html``}
      </aside>
      <div>
        <h2>Webhook deliveries</h2>
        ${history ? renderDeliveries(history.stats) : html`<p>The history is not available at the moment.</p>`}
      </div>
    </div>`;
  return renderPage(site, `Status – ${site.brand.name}`, body, { ...noExtras, current: '/status' });
}

function renderAnnouncement({ severity, text, startsAt, endsAt }: Announcement): Html {
  const start = startsAt === null ? '' : ` From ${formatTime(startsAt)}.`;
  const end = endsAt === null ? '' : ` Until ${formatTime(endsAt)}.`;
  return html`<p class="notice ${severity}">
    <strong>${severityLabels[severity]}.</strong> ${text}${start}${end}
  </p>`;
}

function formatLast(time: string | null): string {
  return time === null ? 'Never' : formatTime(time);
}

function rowOf(name: string, value: string): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${value}</td>
  </tr>`;
}

function renderDeliveries({ lastDay, days }: ServiceStats): Html {
  return html`<p class="soft">
      The share of deliveries that succeeded, after retries if necessary, and the time from the
      event to the response, over all webhooks. Days are in UTC, by when a delivery was queued.
    </p>
    <table class="numbers">
      <thead>
        <tr>
          <th scope="col">Period</th>
          <th scope="col">Succeeded</th>
          <th scope="col">p50 delay</th>
          <th scope="col">p95 delay</th>
        </tr>
      </thead>
      <tbody>
        ${renderPeriod('Last 24 hours', lastDay)}
        ${sinceFirstDelivery(days).map(({ day, ...period }) => renderPeriod(day, period))}
      </tbody>
    </table>`;
}

/** Newest first, without the days before the first delivery. */
function sinceFirstDelivery(days: ServiceStats['days']): ServiceStats['days'] {
  return days.slice(0, days.findLastIndex(({ successShare }) => successShare !== null) + 1);
}

function renderPeriod(name: string, period: ServicePeriod): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${renderShare(period.successShare)}</td>
    <td>${formatDelay(period.delayP50Ms)}</td>
    <td>${formatDelay(period.delayP95Ms)}</td>
  </tr>`;
}

/** A style sheet that is named by its hash allows no inline style, so the bar is drawn. */
function renderShare(share: number | null): Html {
  if (share === null) return html`–`;
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="whole" width="100" height="8" />
      <rect width="${(share * 100).toFixed(2)}" height="8" /></svg
    >${formatShare(share)}`;
}

/** Rounds down, so that 100 % means all. */
function formatShare(share: number): string {
  return `${Math.floor(share * 10_000) / 100} %`;
}

function formatDelay(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000).toLocaleString('en')} min`;
}

function renderPast(past: { since: string; endedAt: string }[]): Html {
  return html`<h2>Past maintenance</h2>
    ${
      past.length === 0
        ? html`<p>None in the last ${statusDays} days.</p>`
        : html`<table>
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">To</th>
              </tr>
            </thead>
            <tbody>
              ${past.map(
                ({ since, endedAt }) =>
                  html`<tr>
                    <td>${formatTime(since)}</td>
                    <td>${formatTime(endedAt)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }`;
}
