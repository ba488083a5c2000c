/** One entry on a list of the directory, for each kind. */
import type { Alliance } from '../../contract/alliance.ts';
import type { Blueprint } from '../../contract/blueprint.ts';
import { cutText } from '../../contract/cut-text.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { countOf, renderBadges, renderMark } from './entry-parts.ts';
import { html, type Html, type Site } from './page.ts';

/** Two lines on a wide screen. */
const descriptionCharsMax = 220;
/** A row with the others hidden stays as high as two rows of an organisation. */
const ingredientsShown = 8;

export function renderOrgRow(site: Site, org: Organisation): Html {
  const { alliance, primaryActivity, location } = org;
  const facts = [primaryActivity, location].flatMap((fact) =>
    fact === null ? [] : [html`<bdi>${fact}</bdi>`],
  );
  if (alliance)
    facts.push(
      html`<a href="${site.basePath}/alliances/${alliance.slug}" dir="auto">${alliance.name}</a>`,
    );
  return renderRow(site, 'orgs', org, facts, [countOf(org.memberCount, 'member')]);
}

export function renderAllianceRow(site: Site, alliance: Alliance): Html {
  const { orgCount, memberCount } = alliance;
  const sizes = [countOf(orgCount, 'organisation'), countOf(memberCount, 'member')];
  return renderRow(site, 'alliances', alliance, [], sizes);
}

function renderRow(
  site: Site,
  kind: 'orgs' | 'alliances',
  entry: Organisation | Alliance,
  facts: Html[],
  sizes: string[],
): Html {
  const { slug, name, tag, description } = entry;
  return html`<li>
    ${renderMark(site, entry)}
    <div class="about">
      <h2><a href="${site.basePath}/${kind}/${slug}" dir="auto">${name}</a></h2>
      ${tag === null ? html`` : html`<span class="tag" dir="auto">${tag}</span>`}
      ${renderBadges(entry)}
      ${description ? html`<p dir="auto">${cutText(description, descriptionCharsMax)}</p>` : html``}
      ${facts.length > 0 ? html`<p class="parts">${facts.map((fact) => html`<span>${fact}</span>`)}</p>` : html``}
    </div>
    <p class="sizes">${sizes.map((size) => html`<span>${size}</span>`)}</p>
  </li>`;
}

/** `isWhole`: with all of its ingredients. */
export function renderBlueprintRow(
  { basePath }: Site,
  blueprint: Blueprint,
  isWhole: boolean,
): Html {
  const { slug, name, category, output, ingredients, sources, active, description } = blueprint;
  const shown = isWhole ? ingredients : ingredients.slice(0, ingredientsShown);
  const hidden = ingredients.length - shown.length;
  const self = `${basePath}/blueprints?slug=${slug}`;
  const facts = [
    html`makes ${output.quantity.toLocaleString('en')} × <bdi>${output.name}</bdi>`,
    ...(blueprint.craftTimeSeconds === null
      ? []
      : [html`${blueprint.craftTimeSeconds.toLocaleString('en')} s`]),
    ...sources.map((source) => html`<bdi>${source.name}</bdi>`),
  ];
  return html`<li>
    <div class="about">
      <h2><a href="${self}" dir="auto">${name}</a></h2>
      ${active ? html`` : html`<span class="badge">Retired</span>`}
      ${description ? html`<p dir="auto">${cutText(description, descriptionCharsMax)}</p>` : html``}
      <p class="parts">${facts.map((fact) => html`<span>${fact}</span>`)}</p>
      <ul class="ingredients" aria-label="Ingredients">
        ${shown.map(
          ({ item, name: label, quantity, unit }) =>
            html`<li>
              ${quantity.toLocaleString('en')} ${unit ?? '×'}
              <a href="${basePath}/blueprints?ingredient=${encodeURIComponent(item)}" dir="auto"
                >${label}</a
              >
            </li>`,
        )}
        ${hidden > 0 ? html`<li><a href="${self}">and ${hidden} more</a></li>` : html``}
      </ul>
    </div>
    <p class="sizes"><span>${category}</span></p>
  </li>`;
}
