import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptBytesMax, type ChatFormat } from '../../../src/contract/delivery-rules.ts';
import { checkUrlOf } from '../../../src/webhooks/management/check-webhook-url.ts';
import { maskUrl, urlSecrets } from '../../../src/webhooks/sending/chat-platforms.ts';
import { hideSecrets } from '../../../src/webhooks/sending/hide-secrets.ts';

// As an operator sets it who allows http for other webhooks.
const guard = { allowedNetworks: [], allowHttp: true };
const check = (format: ChatFormat, url: string) => checkUrlOf(format, url, 'body.url', guard);
const environment = 'https://942ead725f.4a.environment.api.powerplatform.com';

const accepted: Record<ChatFormat, string[]> = {
  discord: [
    'https://discord.com/api/webhooks/123/a_B-c',
    'https://ptb.discord.com/api/webhooks/123/abc',
    'https://canary.discordapp.com/api/v10/webhooks/123/abc?thread_id=5',
    'https://discord.com:443/api/webhooks/123/abc',
  ],
  slack: ['https://hooks.slack.com/services/T0/B0/abc'],
  teams: [
    `${environment}:443/powerautomate/automations/direct/workflows/1/triggers/manual/paths/invoke?api-version=1&sig=a-b_c`,
  ],
};
const refused: Record<ChatFormat, string[]> = {
  discord: [
    'http://discord.com/api/webhooks/123/abc',
    'https://discord.com:8443/api/webhooks/123/abc',
    'https://discord.com.example.org/api/webhooks/123/abc',
    'https://evil-discord.com/api/webhooks/123/abc',
    'https://www.discord.com/api/webhooks/123/abc',
    'https://discord.com/api/channels/123/messages',
    'https://discord.com/api/webhooks/123/abc/slack',
    'https://discord.com/api/webhooks/../users/@me',
    'https://user@discord.com/api/webhooks/123/abc',
    'https://discord.com/…',
  ],
  slack: [
    'https://slack.com/api/chat.postMessage',
    'https://hooks.slack.com/workflows/T0/A0/1/abc',
    'https://hooks.slack.com.example.org/services/T0/B0/abc',
    'https://discord.com/api/webhooks/123/abc',
  ],
  teams: [
    'https://prod-23.westeurope.logic.azure.com/workflows/1/triggers/manual/paths/invoke?sig=x',
    'https://example.webhook.office.com/webhookb2/1',
    'https://environment.api.powerplatform.com.example.org/powerautomate/1',
    'https://environment.api.powerplatform.com/powerautomate/1',
    `${environment}/other`,
  ],
};

for (const format of ['discord', 'slack', 'teams'] as const)
  test(`${format} takes the URLs of its incoming webhooks, and no others`, () => {
    for (const url of accepted[format]) assert.equal(check(format, url), null, url);
    for (const url of refused[format]) {
      const issue = check(format, url);
      assert.ok(issue, url);
      // A URL may be another channel's, pasted by mistake.
      for (const part of ['abc', 'sig=x', 'webhookb2']) assert.ok(!issue.message.includes(part));
    }
  });

test('a masked URL has the origin and nothing that authorises', () => {
  assert.equal(maskUrl('https://discord.com/api/webhooks/1/token?x=1'), 'https://discord.com/…');
});

test('what a response repeats of the URL is taken out, also of its query and when it is encoded', () => {
  const url = `${environment}/powerautomate/invoke?sig=a%2fsecret%2Bsignature%3D`;
  const outcome = {
    statusCode: 400,
    error: null,
    retryAfter: null,
    errorCause: null,
    durationMs: 1,
    responseHeaders: Buffer.from('{"x":"sig=a%2fsecret%2Bsignature%3D"}'),
    responseBody: Buffer.from(`{"sig":"a/secret+signature=","at":"${new URL(url).pathname}"}`),
  };
  const { responseHeaders, responseBody } = hideSecrets(outcome, urlSecrets(url));
  assert.equal(String(responseHeaders), '{"x":"sig=***"}');
  assert.equal(String(responseBody), '{"sig":"***","at":"/powerautomate/invoke"}');
  const end = '/powerautomate/invoke?sig=';
  // As much as is kept of a longer body.
  const cut = Buffer.from(`${end}a/secret+sign`.padStart(keptBytesMax - 1, 'é '));
  const { responseBody: kept } = hideSecrets({ ...outcome, responseBody: cut }, urlSecrets(url));
  assert.ok(String(kept).endsWith('é '), String(kept?.subarray(-100)));
});

const escapeAll = (text: string, escape: (code: string) => string, which = /[^a-z0-9 ]/gi) =>
  text.replaceAll(which, (char) => escape(char.charCodeAt(0).toString(16).padStart(2, '0')));

test('what a response repeats is taken out however programs escape it, also where the body was cut', () => {
  const secret = `Basic a+b/c="d"&e<f>'g'%2F\\h`;
  const json = JSON.stringify(secret).slice(1, -1);
  const html = secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const forms = {
    'as it is': secret,
    JSON: json,
    'a URL': encodeURIComponent(secret),
    'a URL in lower case': encodeURIComponent(secret).toLowerCase().replace('basic', 'Basic'),
    PHP: json.replaceAll('/', '\\/'),
    '.NET': escapeAll(secret, (code) => `\\u00${code.toUpperCase()}`),
    Go: escapeAll(json, (code) => `\\u00${code}`, /[&<>]/g),
    JavaScript: escapeAll(secret, (code) => `\\x${code}`),
    HTML: html,
    'HTML in hexadecimals': escapeAll(secret, (code) => `&#x${code.toUpperCase()};`),
    'HTML in decimals': escapeAll(secret, (code) => `&#${Number.parseInt(code, 16)};`),
    'JSON in HTML': json.replaceAll('&', '&amp;').replaceAll('"', '&#34;'),
    'JSON in JSON': JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  };
  const keptOf = (body: string) => {
    const outcome = {
      statusCode: 200,
      error: null,
      retryAfter: null,
      errorCause: null,
      durationMs: 1,
    };
    const response = { responseHeaders: null, responseBody: Buffer.from(body) };
    return String(hideSecrets({ ...outcome, ...response }, [secret]).responseBody);
  };
  for (const [name, form] of Object.entries(forms)) {
    assert.equal(keptOf(`{"a":"${form}","b":"\\u002F"}`), '{"a":"***","b":"\\u002F"}', name);
    const before = 'x&amp; '.repeat(keptBytesMax / 7 + 1);
    for (let length = 24; length < form.length; length += 1)
      assert.equal(keptOf(before + form.slice(0, length)), before, `${name}, ${length}`);
  }
});
