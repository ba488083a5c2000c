import type { Organisation } from '@orgdir/client';

const descriptionMax = 300;

/** What the chat is told of an organisation: a few lines, well below the 2,000 characters that Discord takes. */
export function describeOrg({ name, tag, description, links, memberCount }: Organisation): string {
  const members = memberCount === 1 ? '1 member' : `${memberCount} members`;
  const lines = [
    `**${asText(name)}**${tag ? ` [${asText(tag)}]` : ''} is new in the directory · ${members}`,
    description && asText(shorten(description)),
    // As an address it has no character that would end it early.
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

/** Without a meaning to the chat: no bold, no link, no heading. */
function asText(text: string): string {
  return text.replaceAll(/[\\`*_~|<>[\]()#:@-]/g, '\\$&');
}
