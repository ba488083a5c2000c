/**
 * Public content, compressed from its second request on. Only that request waits for it: until it is done, others get the
 * bytes as they are. What is never compressed, and why: docs/decisions/0004-http-responses.md.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const { BROTLI_PARAM_QUALITY } = constants;
/** The quality of Brotli takes about as long as gzip's default: 1.5 ms for a page of 60 kB. */
const compressors = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify(gzip),
};
/** Smaller content fits into one packet with its headers anyway. docs/reference/reads.md#compression */
export const compressedFromBytes = 1024;

type Coding = keyof typeof compressors;
/** The one that a caller gets who accepts several alike comes first. */
const codingNames = Object.keys(compressors) as Coding[];

type Content = { body: Buffer; etag: string };
export type Compressed = Content & { coding: Coding };
export type Codings = {
  /** Most pages are requested once, and compressing those would be wasted. */
  requested: boolean;
  compressed: Partial<Record<Coding, Compressed>>;
  onCompressed(): void;
};

export function createCodings(onCompressed: () => void = () => {}): Codings {
  return { requested: false, compressed: {}, onCompressed };
}

/**
 * Returns the content as the caller prefers it, or null: it is sent as it is. A promise for the request that compresses it,
 * which is never rejected.
 */
export function findCompressed(
  content: Content,
  codings: Codings,
  acceptEncoding: string | undefined,
): Compressed | null | Promise<Compressed | null> {
  const isRepeated = codings.requested;
  codings.requested = true;
  const coding = content.body.length < compressedFromBytes ? null : preferredCoding(acceptEncoding);
  if (coding === null) return null;
  const found = codings.compressed[coding];
  if (found) return found;
  return isRepeated && !isCompressing ? compress(content, codings, coding) : null;
}

/** One at a time: it runs in the thread pool, where mail, webhooks and sign-in look up names and hash passwords. */
let isCompressing = false;

async function compress(
  content: Content,
  codings: Codings,
  coding: Coding,
): Promise<Compressed | null> {
  isCompressing = true;
  try {
    const body = await compressors[coding](content.body);
    const compressed = { coding, body, etag: tagOf(content.etag, coding) };
    codings.compressed[coding] = compressed;
    codings.onCompressed();
    return compressed;
  } catch {
    // There is no memory for it: the content is still sent as it is.
    return null;
  } finally {
    isCompressing = false;
  }
}

export function tagOf(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

/** The tags of the same content: as it is, and compressed. */
export function tagsOf(etag: string): string[] {
  return [etag, ...codingNames.map((coding) => tagOf(etag, coding))];
}

/** Browsers send 23 characters. Thousands of codings would take longer to read than everything else of a request. */
const headerLengthMax = 200;

/** Reads `Accept-Encoding` (RFC 9110, 12.5.3). Null: send the content as it is. */
export function preferredCoding(
  header: string | undefined,
  among: Coding[] = codingNames,
): Coding | null {
  if (!header || header.length > headerLengthMax) return null;
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';');
    weights.set(name.trim(), weightOf(parameters.join(';').trim()));
  }
  const weightOfOthers = weights.get('*') ?? 0;
  let preferred: Coding | null = null;
  let most = 0;
  for (const coding of among) {
    const weight = weights.get(coding) ?? weightOfOthers;
    if (weight > most) [preferred, most] = [coding, weight];
  }
  return most >= (weights.get('identity') ?? 0) ? preferred : null;
}

/** A weight that is not one refuses the coding: everybody can read the content as it is. */
function weightOf(parameter: string): number {
  if (parameter === '') return 1;
  return Number(/^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameter)?.[1] ?? 0);
}
