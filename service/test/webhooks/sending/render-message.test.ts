/** Tests what chat channels show of events. `WRITE_MESSAGES=true` writes the expected messages again. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ChatFormat } from '../../../src/contract/delivery-rules.ts';
import { exampleTime } from '../../../src/contract/examples.ts';
import { catalogue, type EventName } from '../../../src/events/catalogue.ts';
import { templateVersion, timeText } from '../../../src/events/message.ts';
import {
  discordMax,
  messageMax,
  renderMessage,
  slackMax,
  teamsBytesMax,
} from '../../../src/webhooks/sending/render-message.ts';

const folder = join(import.meta.dirname, 'messages');
const formats: ChatFormat[] = ['discord', 'slack', 'teams'];
const events = Object.keys(catalogue) as EventName[];
const render = (format: ChatFormat, event: string, data: unknown) =>
  JSON.parse(
    renderMessage(
      format,
      { event, createdAt: exampleTime, data: JSON.stringify(data) },
      templateVersion,
    ) ?? assert.fail('no such version'),
  );

for (const event of events)
  test(`${event} is the expected message on every platform`, async () => {
    const messages = Object.fromEntries(
      formats.map((format) => [format, render(format, event, catalogue[event].sample)]),
    );
    const file = join(folder, `${event}.v${templateVersion}.json`);
    const text = `${JSON.stringify(messages, null, 2)}\n`;
    if (process.env['WRITE_MESSAGES'] === 'true') await writeFile(file, text);
    assert.equal(text, await readFile(file, 'utf8').catch(() => 'there is none'));
  });

test('every expected message is of an event', async () => {
  const files = await readdir(folder);
  assert.deepEqual(files.sort(), events.map((event) => `${event}.v${templateVersion}.json`).sort());
});

test('a process without a version of the texts renders nothing', () => {
  const content = { event: 'org.created', createdAt: exampleTime, data: '{}' };
  assert.equal(renderMessage('discord', content, 999), null);
});

test('an event of an earlier release that lacks fields is shown without them', () => {
  const { embeds } = render('discord', 'org.created', { name: 'Acme' });
  assert.deepEqual(embeds[0].fields, []);
  assert.equal(embeds[0].title, 'Acme joined the directory');
});

test('a test of an event shows the message of that event', () => {
  const sample = { event: 'org.created', data: catalogue['org.created'].sample };
  const { embeds } = render('discord', 'webhook.test', { message: 'Test.', sample });
  assert.equal(embeds[0].title, 'Test\\: Acme Corporation joined the directory');
});

test('a time with an offset is shown in UTC', () => {
  assert.equal(timeText('2026-11-20T20:00:00+02:00'), '2026-11-20 18:00 UTC');
  assert.equal(timeText('2026-12-31T23:59:60Z'), '2027-01-01 00:00 UTC');
});

test('an address for which Discord refuses a message is left out', () => {
  const linked = (website: string) =>
    render('discord', 'org.created', { name: 'Acme', links: { website } }).embeds[0].url;
  for (const website of ['http://intranet/', 'https://my_guild.example.org/', 'http://[::1]/'])
    assert.equal(linked(website), undefined, website);
  for (const website of ['http://192.0.2.1/', 'https://xn--knyvtr-0ta2c.example.org:8443/a?b=c'])
    assert.equal(linked(website), website);
});

test('an entry without a website has no link, because its address in the API needs a key', () => {
  const url = 'https://directory.example.org/api/v1/orgs/acme';
  assert.equal(render('discord', 'org.created', { name: 'Acme', url }).embeds[0].url, undefined);
});

const hostile = fc.oneof(
  fc.constantFrom(
    '@everyone @here <@1> <@&2> <#3> <:a:1>',
    '<!channel> <!here|x> <@U123> <#C1|general> &lt;!channel&gt;',
    '[click](https://evil.example) **b** __u__ ~~s~~ `c` ||x|| > q',
    '# heading\n- item\n1. one',
    '{{DATE(2020-01-01)}} <at>Ada</at> {{{x}}}',
    '\u202eevil\u0000\u200b',
    'https://evil.example/<>|"\'',
  ),
  fc.string({ unit: 'grapheme', maxLength: 6_000 }),
  fc.string({ unit: 'binary', maxLength: 6_000 }),
  fc.nat(6_000).map((length) => '\\'.repeat(length)),
  fc.nat(6_000).map((length) => '&'.repeat(length)),
);
const organisation = fc.record({
  name: hostile,
  description: hostile,
  tag: hostile,
  primaryActivity: hostile,
  language: hostile,
  location: hostile,
  memberCount: fc.nat(),
  alliance: fc.record({ name: hostile }),
  links: fc.record({ website: fc.oneof(hostile, fc.webUrl({ withQueryParameters: true })) }),
});
const resource = fc.record({
  title: hostile,
  organization: hostile,
  deadline: fc.constant(null),
  items: fc.array(fc.record({ name: hostile, quantity: fc.nat(), unit: hostile }), {
    maxLength: 200,
  }),
});
const anyEvent = fc.oneof(
  organisation.map((data) => ({ event: 'org.created', data })),
  fc.record({ name: hostile }).chain((alliance) =>
    resource.map((request) => ({
      event: 'resource.request.created',
      data: { alliance, request },
    })),
  ),
);
/** All texts below a value, by the name of their property. */
function textsOf(value: unknown, name = ''): { name: string; text: string }[] {
  if (typeof value === 'string') return [{ name, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    textsOf(inner, Array.isArray(value) ? name : key),
  );
}
const hasLoneSurrogate = (text: string) => !text.isWellFormed();

test('no mention or markup reaches Discord, and no text is longer than it allows', () => {
  fc.assert(
    fc.property(anyEvent, ({ event, data }) => {
      const { embeds, allowed_mentions: allowed, ...rest } = render('discord', event, data);
      assert.deepEqual(allowed, { parse: [] });
      // Nothing of the data is in the content, the only part that can notify somebody.
      assert.deepEqual(rest, {});
      const [{ title, description = '', fields, url = 'https://x' }] = embeds;
      const shown = [title, description, ...fields.flatMap((one: object) => Object.values(one))];
      const texts = shown.filter((one): one is string => typeof one === 'string');
      // Without its escapes, a text has none of what Discord reads.
      for (const text of texts) {
        assert.doesNotMatch(
          text.replaceAll(/\\[^0-9A-Za-z\s]/g, 'x'),
          /[\\`*_~|<>[\]()@:]|^\s*[-+#]/m,
        );
        assert.ok(text.length > 0 || text === description);
      }
      assert.ok(title.length <= messageMax.title && description.length <= discordMax.description);
      assert.ok(fields.length <= messageMax.fields);
      for (const { name, value } of fields)
        assert.ok(name.length <= messageMax.name && value.length <= messageMax.value);
      assert.ok(texts.join('').length <= discordMax.total);
      assert.match(url, /^https?:\/\//);
    }),
  );
});

test('no mention, link or markup reaches Slack, and no text is longer than it allows', () => {
  fc.assert(
    fc.property(anyEvent, ({ event, data }) => {
      const message = render('slack', event, data);
      assert.equal(message.mrkdwn, false);
      assert.equal(message.parse, 'none');
      const { blocks } = message.attachments[0];
      for (const block of blocks.slice(0, -1))
        for (const text of [block.text, ...(block.fields ?? [])].filter(Boolean)) {
          assert.equal(text.type, 'plain_text');
          assert.equal(text.emoji, false);
          assert.ok(text.text.length <= (block.text ? slackMax.text : slackMax.fieldText));
          assert.doesNotMatch(text.text, /[<>]|&(?!amp;|lt;|gt;)/);
        }
      assert.doesNotMatch(message.text, /[<>]|&(?!amp;|lt;|gt;)/);
      // The last block has a date, and at most one link.
      const [{ text: end }] = blocks.at(-1).elements;
      assert.match(end, /^<!date\^\d+\^[^<>|]+\|[^<>|]+>( · <https?:\/\/[^<>| ]+\|Open>)?$/);
      assert.ok(end.length <= slackMax.text);
    }),
  );
});

test('no mention, function or markup reaches Teams, and no message is longer than it allows', () => {
  fc.assert(
    fc.property(anyEvent, ({ event, data }) => {
      const message = render('teams', event, data);
      assert.ok(Buffer.byteLength(JSON.stringify(message)) <= teamsBytesMax);
      const { content } = message.attachments[0];
      assert.equal(content.msteams, undefined);
      const rows = content.body.flatMap((row: { items?: object[] }) => row.items ?? [row]);
      for (const { type, inlines } of rows) {
        // A run of text is the element in which Teams reads no Markdown.
        assert.equal(type, 'RichTextBlock');
        for (const run of inlines) {
          assert.equal(run.type, 'TextRun');
          assert.ok(!run.text.includes('{{'));
        }
      }
    }),
  );
});

test('a text that is cut has no broken character and no control character', () => {
  fc.assert(
    fc.property(anyEvent, fc.constantFrom(...formats), ({ event, data }, format) => {
      for (const { text } of textsOf(render(format, event, data))) {
        assert.ok(!hasLoneSurrogate(text));
        assert.doesNotMatch(text, /(?!\n)\p{Cc}|\u202e/u);
      }
    }),
  );
});
