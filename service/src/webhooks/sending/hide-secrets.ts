/** Takes out of a response what it repeats of its request and nobody may read: an error page its path, an echo its headers. Pure. */
import { keptBytesMax } from '../../contract/delivery-rules.ts';
import type { AttemptOutcome } from './attempt.ts';

/** The shortest start of a secret that is taken out at the end of a body that was cut. */
const startLengthMin = 8;
/** A secret that is shorter without its own escapes is looked for only as it is: the rest may be anywhere in a text. */
const plainLengthMin = 6;

/** Each of `secrets` becomes `***`, however programs escape it in JSON, URLs and HTML. */
export function hideSecrets(outcome: AttemptOutcome, secrets: string[]): AttemptOutcome {
  if (secrets.length === 0) return outcome;
  const plain = secrets
    .map((one) => removeEscapes(asItIs(one)).text)
    .filter(({ length }) => length >= plainLengthMin);
  const forms = { asTheyAre: secrets, plain };
  const { responseHeaders, responseBody } = outcome;
  return {
    ...outcome,
    responseHeaders: responseHeaders && hideInHeaders(responseHeaders, forms),
    responseBody: responseBody && hideInBody(responseBody, forms),
  };
}

type Forms = { asTheyAre: string[]; plain: string[] };

/** In each name and value: a secret with quotes could also be found across two of them, and what is left would be no JSON. */
function hideInHeaders(headers: Buffer, forms: Forms): Buffer {
  const kept = JSON.parse(headers.toString()) as Record<string, string>;
  const hidden = Object.entries(kept).map((pair) => pair.map((text) => hide(text, forms)));
  return Buffer.from(JSON.stringify(Object.fromEntries(hidden)));
}

function hideInBody(body: Buffer, forms: Forms): Buffer {
  const text = hide(body.toString('latin1'), forms);
  // Only the first bytes of a body are kept, which may end within a secret.
  const isCut = body.length >= keptBytesMax;
  return Buffer.from(isCut ? text.slice(0, findStarted(text, forms)) : text, 'latin1');
}

function hide(text: string, { asTheyAre, plain }: Forms): string {
  const came = asItIs(text);
  const without = removeEscapes(came);
  const spans = [
    ...asTheyAre.flatMap((secret) => findAll(came, secret)),
    ...plain.flatMap((secret) => findAll(without, secret)),
  ];
  let kept = '';
  let end = 0;
  // One secret may contain others.
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    if (from >= end) kept += `${text.slice(end, from)}***`;
    end = Math.max(end, to);
  }
  return kept + text.slice(end);
}

function findAll(read: Read, secret: string): [number, number][] {
  const { text } = read;
  const spans: [number, number][] = [];
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
    spans.push([placeOf(read, at), placeOf(read, at + secret.length)]);
  return spans;
}

/** The text may end within an escape. */
const unfinishedEscape = /(?:\\{1,8}(?:u0{0,2}|x)?[\da-f]?|%[\da-f]?|&[#\w]{0,9})$/i;

/** Where a secret begins with whose start the text ends; infinity if there is none, or too little of it to tell. */
function findStarted(text: string, { asTheyAre, plain }: Forms): number {
  const came = asItIs(text);
  const without = removeEscapes(came);
  const whole = { ...without, text: without.text.replace(unfinishedEscape, '') };
  return Math.min(
    ...asTheyAre.map((secret) => beginOfStarted(came, secret)),
    ...plain.flatMap((secret) => [without, whole].map((read) => beginOfStarted(read, secret))),
  );
}

function beginOfStarted(read: Read, secret: string): number {
  const { text } = read;
  for (let count = secret.length - 1; count >= startLengthMin; count -= 1)
    if (text.endsWith(secret.slice(0, count))) return placeOf(read, text.length - count);
  return Infinity;
}

/** A text, and where each of its characters, and its end, was in the text that came; null if that is the same one. */
type Read = { text: string; places: number[] | null };

const asItIs = (text: string): Read => ({ text, places: null });
const placeOf = ({ places }: Read, index: number) => places?.[index] ?? index;

/** Those of characters that credentials and URLs have. */
const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  bsol: '\\',
  plus: '+',
  equals: '=',
  colon: ':',
  quest: '?',
  num: '#',
  percnt: '%',
  commat: '@',
  period: '.',
  lowbar: '_',
};
const escapes = new RegExp(
  [
    // `\/` of PHP, `\u002B` of .NET, `\u0026` of Go, `\x2f` of JavaScript.
    String.raw`\\([^a-z\d])`,
    String.raw`\\(?:u00|x)([\da-f]{2})`,
    String.raw`%([\da-f]{2})`,
    String.raw`&#x0{0,6}([\da-f]{2});`,
    String.raw`&#0{0,6}(\d{2,3});`,
    `&(${Object.keys(entities).join('|')});`,
  ].join('|'),
  'gi',
);
/** Texts may be escaped several times: JSON as a text in JSON, in a page. */
const passesMax = 4;

/** The same without escapes. Each pass takes time in proportion to the text, and bodies and headers are short. */
function removeEscapes(came: Read): Read {
  let read = came;
  for (let pass = 0; pass < passesMax; pass += 1) {
    const next = removeOnce(read);
    if (next === read) break;
    read = next;
  }
  return read;
}

function removeOnce(read: Read): Read {
  const { text } = read;
  const found = [...text.matchAll(escapes)];
  if (found.length === 0) return read;
  const before = read.places ?? Array.from({ length: text.length + 1 }, (_, index) => index);
  const places: number[] = [];
  let plain = '';
  let end = 0;
  for (const match of found) {
    plain += text.slice(end, match.index) + characterOf(match);
    places.push(...before.slice(end, match.index + 1));
    end = match.index + match[0].length;
  }
  places.push(...before.slice(end));
  return { text: plain + text.slice(end), places };
}

function characterOf([, itself, json, url, hex, decimal, entity = '']: RegExpExecArray): string {
  if (itself !== undefined) return itself;
  const code = Number.parseInt(json ?? url ?? hex ?? '', 16);
  if (!Number.isNaN(code)) return String.fromCharCode(code);
  return decimal === undefined
    ? (entities[entity.toLowerCase()] ?? '')
    : String.fromCharCode(Number(decimal));
}
