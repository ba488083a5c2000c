import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {
  checkWebhookUrl,
  type GuardOptions,
} from '../../../src/webhooks/management/check-webhook-url.ts';

const strict: GuardOptions = { allowedNetworks: [], allowHttp: false };
const developer: GuardOptions = {
  allowedNetworks: [ipaddr.parseCIDR('127.0.0.0/8')],
  allowHttp: true,
};
const fault = (text: string, options: GuardOptions = strict) =>
  checkWebhookUrl(text, 'body.url', options)?.message ?? null;

test('valid webhook URLs are accepted', () => {
  for (const text of [
    'https://example.org',
    'https://example.org/hooks?token=a%20b&c=@d',
    'HTTPS://EXAMPLE.ORG:8443/Hooks',
    'https://example.org./',
    'https://under_score.example.org/',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]:444/',
    `https://${'a'.repeat(63)}.example/`,
  ])
    assert.equal(fault(text), null, text);
  for (const text of ['http://localhost:3000/', 'http://127.0.0.1:8080/', 'http://hook.localhost.'])
    assert.equal(fault(text, developer), null, text);
});

const longHost = `${'a.'.repeat(126)}ab`;
const refused: [RegExp, string[]][] = [
  [
    /must be a full address/,
    [
      '',
      'example.org',
      '/hooks',
      'https:',
      'https://',
      'https:///example.org',
      'https:example.org',
      'ftp://example.org/',
      'javascript:alert(1)',
      'https://?a',
      'https://a<b.example/',
      'https://[::1',
      'https://[::g]/',
      'https://1.2.3.4.5/',
      'https://256.256.256.256/',
      'https://example.org:99999/',
    ],
  ],
  [/must begin with https/, ['http://example.org/']],
  [
    /credentials/,
    [
      'https://user@example.org/',
      'https://user:password@example.org/',
      'https://@example.org/',
      'https://:@example.org/',
      'https://example.org@127.0.0.1/',
      'https://example.org:443@127.0.0.1/',
    ],
  ],
  [
    /spaces, line ends, control characters or backslashes/,
    [
      ' https://example.org/',
      'https://example.org/ ',
      'https://exa\tmple.org/',
      'https://example.org/\r\nX-A: b',
      'https://example.org/\nb',
      'https:\\\\example.org\\',
      'https://example.org\\@127.0.0.1/',
      'https://example.org/\u0000',
      'https://example.org/\u2028',
    ],
  ],
  [
    /percent-encode/,
    ['https://%65xample.org/', 'https://127.0.0.1%2f/', 'https://[fe80::1%25eth0]/'],
  ],
  [/fragment/, ['https://example.org/#', 'https://example.org/#a']],
  [/must not use port 22/, ['https://example.org:22/']],
  [
    /single dots between its parts/,
    [
      'https://a..b/',
      'https://.example.org/',
      'https://./',
      'https://../',
      'https://example.org../',
      'https://a,b.example/',
      'https://a(b).example/',
    ],
  ],
  [/at most 253 characters/, [`https://${longHost}/`]],
  [/at most 63 characters/, [`https://${'a'.repeat(64)}.example/`]],
  [/at most 2048 characters/, [`https://example.org/${'a'.repeat(2048)}`]],
  [
    /private or reserved network/,
    [
      'https://localhost/',
      'https://LOCALHOST./',
      'https://a.b.localhost/',
      'https://127.0.0.1/',
      'https://127.0.0.1./',
      'https://2130706433/',
      'https://0x7f000001/',
      'https://0177.0.0.1/',
      'https://127.1/',
      'https://0/',
      'https://１２７.０.０.１/',
      'https://127。0。0。1/',
      'https://169.254.169.254/latest/meta-data/',
      'https://192.0.2.1/',
      'https://198.18.0.1/',
      'https://[::]/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://[::ffff:8.8.8.8]/',
      'https://[::ffff:a00:1]/',
      'https://[64:ff9b::a00:1]/',
      'https://[2002:a00:1::]/',
      'https://[2001:0:a00:1::]/',
      'https://[2001:2::1]/',
      'https://[2001:db8::1]/',
      'https://[fd00::1]/',
      'https://[fe80::1]/',
    ],
  ],
  [
    /four decimal numbers, here 8\.8\.8\.8/,
    [
      'https://134744072/',
      'https://0x08080808/',
      'https://010.8.8.8/',
      'https://8.8.2056/',
      'https://8.8.8.8./',
    ],
  ],
];

test('forbidden and impossible webhook URLs are rejected with advice', () => {
  for (const [message, texts] of refused)
    for (const text of texts) assert.match(fault(text) ?? 'accepted', message, text);
});

/** From IANA's registries of special addresses, by other means than those of the service. */
const special4 = new BlockList();
// Separate lists, because one list would match IPv4 addresses as mapped IPv6 addresses.
const special6 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special4.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['::', 3],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['4000::', 2],
  ['8000::', 1],
] as const)
  special6.addSubnet(network, bits, 'ipv6');

const isSpecial = (address: string) =>
  isIP(address) === 4 ? special4.check(address, 'ipv4') : special6.check(address, 'ipv6');

const byte = fc.nat(255);
const spelledNumber = fc
  .tuple(byte, fc.constantFrom(10, 16, 8))
  .map(([value, base]) =>
    base === 10 ? `${value}` : base === 16 ? `0x${value.toString(16)}` : `0${value.toString(8)}`,
  );
const hexGroup = fc.nat(0xffff).map((value) => value.toString(16));
const host = fc.oneof(
  fc.array(spelledNumber, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')),
  fc.tuple(byte, byte, byte, byte).map((parts) => parts.join('.')),
  fc.nat(0xffffffff).map(String),
  fc.array(hexGroup, { minLength: 8, maxLength: 8 }).map((groups) => `[${groups.join(':')}]`),
  fc
    .tuple(
      fc.constantFrom(
        '::',
        '::ffff:',
        '64:ff9b::',
        '2002:',
        '2001:',
        '2001:db8:',
        'fe80::',
        'fd00:',
        '2606:4700:',
      ),
      hexGroup,
      hexGroup,
    )
    .map(
      ([start, a, b]) =>
        `[${start}${a}:${b}${start.endsWith('::') || start === '::ffff:' ? '' : '::'}]`,
    ),
  fc.constantFrom('localhost', 'example.org', 'a..b', '127.0.0.1.', '１.１.１.１'),
);
const dressedUrl = fc
  .tuple(
    fc.constantFrom('https://', 'HTTPS://', 'https:/', 'https:\\\\', 'https:'),
    fc.constantFrom('', '', '', '@', 'example.org@', 'example.org:443@', '%20'),
    host,
    fc.constantFrom('', '', '.', ':443', ':8443', ':', '\t', '%00'),
    fc.constantFrom('/', '', '/a', '?a', '\\a'),
  )
  .map((parts) => parts.join(''));

test('no accepted URL has a private host, and the accepted text is what is called', () => {
  let accepted = 0;
  fc.assert(
    fc.property(dressedUrl, (text) => {
      if (fault(text) !== null) return;
      const shown = new URL(text).hostname.replace(/^\[|\]$/g, '');
      // An IPv6 address has many spellings, and each of them is that address.
      const spelled = shown.includes(':') ? '[' : new URL(text).hostname;
      assert.ok(text.toLowerCase().startsWith(`https://${spelled}`), text);
      if (isIP(shown) === 0) return assert.equal(shown.replace(/\.$/, ''), 'example.org');
      accepted += 1;
      assert.equal(isSpecial(shown), false, text);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(accepted > 50, `only ${accepted} addresses were accepted at all`);
});
