/**
 * Writes an event as a message for a chat platform: its texts from `events/catalogue.ts`, within the platform's limits, and
 * without any mention or markup from the data. Pure: the same event and template version give the same bytes.
 */
import type { ChatFormat } from '../../contract/delivery-rules.ts';
import { catalogueEntry, messageOf } from '../../events/catalogue.ts';
import type { Message } from '../../events/message.ts';
import type { DeliveryContent } from './sign.ts';

/**
 * Of what an event says, before a platform's own limits: most are Discord's, the narrowest in fields
 * (https://docs.discord.com/developers/resources/message#embed-object-embed-limits).
 */
export const messageMax = { title: 256, text: 2_000, fields: 25, name: 256, value: 1_024 };
export const discordMax = { description: 4_096, total: 6_000 };
/** https://docs.slack.dev/reference/block-kit/blocks/section-block */
export const slackMax = { text: 3_000, fieldText: 2_000, fields: 10 };
/** Teams refuses a message of about 28 KB, the rest of the request included: https://learn.microsoft.com/connectors/teams */
export const teamsBytesMax = 20_000;

type Content = Omit<DeliveryContent, 'id'>;
type Shown = Message & { time: string };
type Renderer = (shown: Shown) => unknown;

/** The layouts of each version of the templates. A delivery keeps the version that its event was made with. */
const renderers: Record<number, Record<ChatFormat, Renderer>> = {
  1: { discord: renderDiscord, slack: renderSlack, teams: renderTeams },
};

/** The body of the request as JSON text; null if this process does not have that version. */
export function renderMessage(
  format: ChatFormat,
  content: Content,
  version: number,
): string | null {
  const renderer = renderers[version]?.[format];
  return renderer ? JSON.stringify(renderer(messageFor(content, version))) : null;
}

/** The event in words, within `messageMax`. */
export function messageFor({ event, createdAt, data }: Content, version: number): Shown {
  const known = catalogueEntry(event) !== undefined;
  const made: Message = known
    ? messageOf(event, JSON.parse(data), version)
    : { title: event, text: null, fields: [], url: null, color: 'info' };
  const fields = made.fields.map(({ name, value }) => ({
    name: fit(clean(name), messageMax.name),
    value: fit(clean(value), messageMax.value),
  }));
  return {
    title: fit(clean(made.title).replaceAll('\n', ' '), messageMax.title) || event,
    text: fit(clean(made.text ?? ''), messageMax.text) || null,
    // Discord refuses an embed with an empty field.
    fields: fields.filter(({ name, value }) => name && value).slice(0, messageMax.fields),
    url: webLink(made.url),
    color: made.color,
    time: createdAt,
  };
}

/** Removes control characters, and those that change the direction of the text around them. */
function clean(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/(?!\n)[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    .trim();
}

/** As much of a text as fits once it is escaped. Splits no character. */
function fit(text: string, max: number, escape = (some: string) => some): string {
  const whole = escape(text);
  if (whole.length <= max) return whole;
  const characters = Array.from(text);
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (escape(characters.slice(0, middle).join('')).length < max) low = middle;
    else high = middle - 1;
  }
  return `${escape(characters.slice(0, low).join(''))}…`;
}

/** For the address of another host, such as `intranet` or `my_host.example.org`, Discord refuses the whole message. */
const linkedHost = /^(\d+(\.\d+){3}|([a-z\d-]+\.)+[a-z\d-]*[a-z][a-z\d-]*)$/;

/** A link that no format can take for something else; null unless it is one. */
function webLink(text: string | null): string | null {
  const url = text === null ? null : URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || !linkedHost.test(url.hostname)) return null;
  const link = url.href.replaceAll(/[|<>"'()*_~`{}\\]/g, percentEncode);
  return link.length <= 2_000 ? link : null;
}

const percentEncode = (character: string) =>
  `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const discordColors = { good: 0x2e_a0_43, info: 0x1f_6f_eb, warning: 0xd2_99_22, bad: 0xcf_22_2e };

function renderDiscord({ title, text, fields, url, color, time }: Shown): unknown {
  const head = fit(title, messageMax.title, escapeDiscord);
  const description = text && fit(text, discordMax.description, escapeDiscord);
  let left = discordMax.total - head.length - (description?.length ?? 0);
  const shown = fields
    .map(({ name, value }) => ({
      name: fit(name, messageMax.name, escapeDiscord),
      value: fit(value, messageMax.value, escapeDiscord),
      inline: true,
    }))
    .filter(({ name, value }) => (left -= name.length + value.length) >= 0);
  return {
    embeds: [
      {
        title: head,
        ...(description && { description }),
        ...(url && { url }),
        color: discordColors[color],
        fields: shown,
        timestamp: time,
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

/** A backslash keeps Discord from reading any of these as markup, a mention, an emoji or a link. */
function escapeDiscord(text: string): string {
  return text.replaceAll(/[\\`*_~|<>[\]()@:]|(?<=^\s*)[-+#]|(?<=^\s*\d+)\./gm, String.raw`\$&`);
}

const slackColors = { good: '#2ea043', info: '#1f6feb', warning: '#d29922', bad: '#cf222e' };

/** Texts of the data are `plain_text`, which has no markup; in the link and the notification they are escaped. */
function renderSlack({ title, text, fields, url, color, time }: Shown): unknown {
  const seconds = Math.floor(Date.parse(time) / 1_000);
  const plain = (some: string, max: number) => ({
    type: 'plain_text',
    text: fit(some, max, escapeSlack),
    emoji: false,
  });
  const groups = Array.from({ length: Math.ceil(fields.length / slackMax.fields) }, (_, index) =>
    fields.slice(index * slackMax.fields, (index + 1) * slackMax.fields),
  );
  const written = `<!date^${seconds}^{date_short_pretty} {time}|${time}>`;
  return {
    // In notifications, which show no blocks.
    text: fit(title, slackMax.text, escapeSlack),
    mrkdwn: false,
    parse: 'none',
    unfurl_links: false,
    unfurl_media: false,
    attachments: [
      {
        color: slackColors[color],
        blocks: [
          ...(text ? [{ type: 'section', text: plain(text, slackMax.text) }] : []),
          ...groups.map((group) => ({
            type: 'section',
            fields: group.map(({ name, value }) => plain(`${name}\n${value}`, slackMax.fieldText)),
          })),
          {
            type: 'context',
            elements: [
              {
                type: 'mrkdwn',
                text: url ? `${written} · <${escapeSlack(url)}|Open>` : written,
                verbatim: true,
              },
            ],
          },
        ],
      },
    ],
  };
}

/** https://docs.slack.dev/messaging/formatting-message-text#escaping: nothing else can begin a mention or a link. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const teamsStyles = { good: 'good', info: 'accent', warning: 'warning', bad: 'attention' };

/** Texts of the data are runs of text, in which Teams reads no Markdown; it has no mention without `msteams.entities`. */
function renderTeams({ title, text, fields, url, color, time }: Shown): unknown {
  const line = (...runs: object[]) => ({ type: 'RichTextBlock', inlines: runs });
  const run = (some: string, look: object = {}) => ({
    type: 'TextRun',
    text: escapeTeams(some),
    ...look,
  });
  const head = {
    type: 'Container',
    style: teamsStyles[color],
    bleed: true,
    items: [line(run(title, { weight: 'Bolder', size: 'Medium' }))],
  };
  const end = line(
    run(`${time.slice(0, 16).replace('T', ' ')} UTC`, { isSubtle: true, size: 'Small' }),
  );
  const card = (rows: object[]) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [head, ...rows, end],
          ...(url && { actions: [{ type: 'Action.OpenUrl', title: 'Open', url }] }),
        },
      },
    ],
  });
  const rows = [
    ...(text ? [line(run(text))] : []),
    ...fields.map(({ name, value }) => line(run(`${name}: `, { weight: 'Bolder' }), run(value))),
  ];
  while (rows.length > 0 && Buffer.byteLength(JSON.stringify(card(rows))) > teamsBytesMax)
    rows.pop();
  return card(rows);
}

/** Adaptive Cards replace `{{DATE(…)}}` in any text; an invisible character keeps the braces apart. */
function escapeTeams(text: string): string {
  return text.replaceAll(/\{(?=\{)/g, '{\u200b');
}
