/** The page at `/`: what this directory is, its size, its newest organisations, and a first request. */
import type { Organisation } from '../../contract/organisation.ts';
import { envelope } from '../../contract/envelope.ts';
import type { Status } from '../../contract/status.ts';
import { type Html, type Site, html, renderMaintenance, renderPage } from './page.ts';
import { renderForm } from './search-page.ts';

export type LandingContent = {
  counts: Status['counts'];
  maintenance: Status['maintenance'];
  /** The newest first; empty if the database is away. */
  newest: Organisation[];
};

const descriptionMax = 240;

export function renderLanding(site: Site, { counts, maintenance, newest }: LandingContent): string {
  const { basePath, brand, directoryPages } = site;
  const body = html` ${maintenance ? renderMaintenance(maintenance) : html``}
    <h1>A directory of organisations and alliances</h1>
    <p>
      Browse organisations, alliances and blueprints. Read the directory over an HTTP API, and let
      signed webhooks notify your chat bot, web site or tool of changes.
    </p>
    <div class="actions">
      ${directoryPages && html`<a href="${basePath}/orgs">Browse organisations</a>`}<a
        href="${basePath}/profile/developer"
        >Get an API key</a
      ><a href="${basePath}/docs">Read the docs</a>
    </div>
    ${renderForm(site)}
    <dl class="counts">
      ${countOf('Organisations', counts.orgs)}${countOf('Alliances', counts.alliances)}${countOf('Blueprints', counts.blueprints)}
    </dl>
    ${newest[0] ? renderRequest(site, newest[0]) : html``}
    ${newest.length > 0 ? renderNewest(site, newest) : html``}`;
  return renderPage(site, `${brand.name}: a directory of organisations and alliances`, body);
}

function countOf(label: string, count: number): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd>${count.toLocaleString('en')}</dd>
  </div>`;
}

/** The response is the one that this request would get now. */
function renderRequest({ publicUrl, basePath }: Site, org: Organisation): Html {
  const command = `curl ${publicUrl}/api/v1/orgs/${org.slug} \\\n  -H "Authorization: Bearer $KEY"`;
  return html`<h2 id="request">Your first request</h2>
    <p>
      <a href="${basePath}/profile/developer">Create a key</a> in the developer portal, and set
      <code>KEY</code> to it.
    </p>
    <pre tabindex="0" aria-label="A request">${command}</pre>
    <pre tabindex="0" aria-label="Its response">${JSON.stringify(envelope(org), null, 2)}</pre>`;
}

function renderNewest({ basePath, directoryPages }: Site, newest: Organisation[]): Html {
  return html`<h2>Newest organisations</h2>
    <ul>
      ${newest.map(({ slug, name, tag, alliance, description }) => {
        const title = tag === null ? name : `${name} (${tag})`;
        return html`<li>
          <h3>${directoryPages ? html`<a href="${basePath}/orgs/${slug}">${title}</a>` : title}</h3>
          ${[alliance?.name, description].map((text) => (text ? html`<p>${cut(text)}</p>` : html``))}
        </li>`;
      })}
    </ul>`;
}

function cut(text: string): string {
  return text.length > descriptionMax ? `${text.slice(0, descriptionMax)}…` : text;
}
