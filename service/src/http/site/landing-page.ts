/** The page at `/`: what this directory is, its size, its newest organisations, and a first request. */
import type { Organisation } from '../../contract/organisation.ts';
import { cutText } from '../../contract/cut-text.ts';
import { envelope } from '../../contract/envelope.ts';
import { attemptsMaxInWords } from '../../contract/delivery-rules.ts';
import type { Status } from '../../contract/status.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import {
  type Html,
  type Site,
  directoryLinks,
  html,
  renderMaintenance,
  renderPage,
} from './page.ts';
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
    <div class="hero">
      <div>
        <h1>A directory of organisations and alliances</h1>
        <p class="lead">
          Read organisations, alliances and blueprints over an HTTP API, and let signed webhooks
          notify your chat bot, web site or tool of changes.
        </p>
        <div class="actions">
          ${directoryPages && html`<a href="${basePath}/orgs">Browse organisations</a>`}<a
            href="${basePath}/profile/developer"
            >Get an API key</a
          ><a href="${basePath}/docs">Read the docs</a>
        </div>
        ${renderForm(site)}
      </div>
      ${newest[0] ? renderRequest(site, newest[0]) : html``}
    </div>
    <dl class="counts">
      ${renderCount(site, 'orgs', counts.orgs)}${renderCount(site, 'alliances', counts.alliances)}${renderCount(site, 'blueprints', counts.blueprints)}
    </dl>
    <h2>Build on it</h2>
    <div class="cards">
      ${renderUse(`${basePath}/docs/reading`, 'Read the directory', 'Lists, search, facets and a feed of changes, with the same fields everywhere and a description in OpenAPI.')}
      ${renderUse(`${basePath}/docs/deliveries`, 'Receive events', `Signed webhooks with up to ${attemptsMaxInWords} attempts. A receiver that was down gets what it missed.`)}
      ${renderUse(`${basePath}/profile/developer`, 'See every attempt', 'The developer portal shows requests and responses, explains why an event was not sent, and sends it again.')}
    </div>
    ${newest.length > 0 ? renderNewest(site, newest) : html``}`;
  return renderPage(site, `${brand.name}: a directory of organisations and alliances`, body);
}

function renderCount({ basePath, directoryPages }: Site, kind: SlugTable, count: number): Html {
  const text = count.toLocaleString('en');
  return html`<div>
    <dt>${directoryLinks[`/${kind}`]}</dt>
    <dd>${directoryPages ? html`<a href="${basePath}/${kind}">${text}</a>` : text}</dd>
  </div>`;
}

function renderUse(address: string, title: string, text: string): Html {
  return html`<div>
    <h3><a href="${address}">${title}</a></h3>
    <p>${text}</p>
  </div>`;
}

/** The response is the one that this request would get now. */
function renderRequest({ publicUrl, basePath }: Site, org: Organisation): Html {
  const command = `curl ${publicUrl}/api/v1/orgs/${org.slug} \\\n  -H "Authorization: Bearer $KEY"`;
  return html`<section class="request">
    <h2 id="request">Your first request</h2>
    <p>
      <a href="${basePath}/profile/developer">Create a key</a> in the developer portal, and set
      <code>KEY</code> to it.
    </p>
    <pre tabindex="0" aria-label="A request">${command}</pre>
    <pre tabindex="0" aria-label="Its response">${JSON.stringify(envelope(org), null, 2)}</pre>
  </section>`;
}

function renderNewest({ basePath, directoryPages }: Site, newest: Organisation[]): Html {
  return html`<h2>Newest organisations</h2>
    <ul class="cards">
      ${newest.map(({ slug, name, tag, alliance, description }) => {
        const title = tag === null ? name : `${name} (${tag})`;
        const shown = directoryPages
          ? html`<a href="${basePath}/orgs/${slug}">${title}</a>`
          : title;
        return html`<li>
          <h3 dir="auto">${shown}</h3>
          ${[alliance?.name, description].map((text) => (text ? html`<p dir="auto">${cutText(text, descriptionMax)}</p>` : html``))}
        </li>`;
      })}
    </ul>`;
}
