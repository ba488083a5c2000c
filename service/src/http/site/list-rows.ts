/** One entry on a list of the directory. */
import type { Alliance } from '../../contract/alliance.ts';
import type { Blueprint } from '../../contract/blueprint.ts';
import { cutText } from '../../contract/cut-text.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { countOf, renderBadges, renderMark } from './entry-parts.ts';
import { html, type Html, type Site } from './page.ts';

/** Two lines on a wide screen. */
const descriptionCharsMax = 220;
/** So that a row is about as high as two of organisations. */
const ingredientsShown = 8;

export function renderOrgRow(site: Site, org: Organisation): Html {
  const { alliance, primaryActivity, location } = org;
  const href = `${site.basePath}/alliances/${alliance?.slug}`;
  const facts = [
    primaryActivity && html`<bdi>${primaryActivity}</bdi>`,
    location && html`<bdi>${location}</bdi>`,
    alliance && html`<a href="${href}" dir="auto">${alliance.name}</a>`,
  ];
  return renderRow(site, 'orgs', org, [countOf(org.memberCount, 'member')], facts);
}

export function renderAllianceRow(site: Site, alliance: Alliance): Html {
  const { orgCount, memberCount } = alliance;
  const sizes = [countOf(orgCount, 'organisation'), countOf(memberCount, 'member')];
  return renderRow(site, 'alliances', alliance, sizes);
}

type Facts = (Html | '' | null)[];

function renderRow(
  site: Site,
  kind: 'orgs' | 'alliances',
  entry: Organisation | Alliance,
  sizes: string[],
  facts: Facts = [],
): Html {
  return html`<li>
    ${renderMark(site, entry)}
    <div class="about">
      <h2><a href="${site.basePath}/${kind}/${entry.slug}" dir="auto">${entry.name}</a></h2>
      ${renderBadges(entry)} ${renderFacts(facts)} ${renderText(entry)}
    </div>
    <p class="sizes">${sizes.map((size) => html`<span>${size}</span>`)}</p>
  </li>`;
}

function renderText({ description }: { description: string | null }): Html {
  const text = cutText(description ?? '', descriptionCharsMax);
  return html`${text !== '' && html`<p dir="auto">${text}</p>`}`;
}

function renderFacts(facts: Facts): Html {
  return html`<p class="parts">
    ${facts.map((fact) => html`${fact && html`<span>${fact}</span>`}`)}
  </p>`;
}

/** `isWhole`: with all of its ingredients. */
export function renderBlueprintRow(site: Site, blueprint: Blueprint, isWhole: boolean): Html {
  const { name, category, output, ingredients, sources, active, craftTimeSeconds } = blueprint;
  const list = `${site.basePath}/blueprints`;
  const self = `${list}?slug=${blueprint.slug}`;
  const shown = isWhole ? ingredients : ingredients.slice(0, ingredientsShown);
  const hidden = ingredients.length - shown.length;
  const facts = [
    html`makes ${output.quantity.toLocaleString('en')} × <bdi>${output.name}</bdi>`,
    craftTimeSeconds !== null && html`${craftTimeSeconds.toLocaleString('en')} s`,
    ...sources.map((source) => html`<bdi>${source.name}</bdi>`),
  ].map((fact) => fact || null);
  const items = shown.map(
    (each) =>
      html`<li>
        ${each.quantity.toLocaleString('en')} ${each.unit ?? '×'}
        <a href="${list}?ingredient=${encodeURIComponent(each.item)}" dir="auto">${each.name}</a>
      </li>`,
  );
  return html`<li>
    <div class="about">
      <h2><a href="${self}" dir="auto">${name}</a></h2>
      ${!active && html`<span class="badge">Retired</span>`} ${renderFacts(facts)}
      ${renderText(blueprint)}
      <ul class="ingredients" aria-label="Ingredients">
        ${items}${hidden > 0 && html`<li><a href="${self}">and ${hidden} more</a></li>`}
      </ul>
    </div>
    <p class="sizes">${category}</p>
  </li>`;
}
