import type { Organisation } from '@orgdir/client';

const descriptionMax = 300;

/** Renders a message of a few lines, well below Discord's limit of 2,000 characters. */
export function describeOrg({ name, tag, description, links, memberCount }: Organisation): string {
  const members = memberCount === 1 ? '1 member' : `${memberCount} members`;
  const lines = [
    `**${escapeMarkup(name)}**${tag ? ` [${escapeMarkup(tag)}]` : ''} is new in the directory · ${members}`,
    description && escapeMarkup(shorten(description)),
    // A normalised URL has no character that would end the link early.
    links.website && URL.canParse(links.website) && `<${new URL(links.website).href}>`,
  ];
  return lines.filter(Boolean).join('\n');
}

function shorten(text: string): string {
  const segments = new Intl.Segmenter().segment(text.replaceAll(/\s+/g, ' '));
  const characters = Array.from(segments, ({ segment }) => segment);
  if (characters.length <= descriptionMax) return characters.join('');
  return `${characters.slice(0, descriptionMax - 1).join('')}…`;
}

/** Escapes the chat's markup. */
function escapeMarkup(text: string): string {
  return text.replaceAll(/[\\`*_~|<>[\]()#:@-]/g, '\\$&');
}
