/** What every page looks like, the developer portal included: the brand, the typeface, and the reader's colour scheme. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Brand } from './brand.ts';

const read = (file: string) => readFileSync(new URL(file, import.meta.url));

/** Geist, cut to Latin letters: font.license.txt says how. */
export const font = read('./font.woff2');
const fontVersion = createHash('sha256').update(font).digest('base64url').slice(0, 12);
const css = read('./tokens.css').toString();

/** Shows the reader's choice before the first paint, and makes `#switch-scheme` change it. */
export const schemeScript = read('./scheme.js').toString();

type Look = { brand: Brand; basePath: string };

/** Changes with the font. */
const fontAddress = (basePath: string) => `${basePath}/font.woff2?v=${fontVersion}`;

/** HTML: the typeface loads with the page, not after it. */
export function fontLink({ basePath }: Pick<Look, 'basePath'>): string {
  return `<link rel="preload" as="font" type="font/woff2" crossorigin href="${fontAddress(basePath)}">`;
}

/** A style sheet: the variables `--brand`, `--text` and so on. */
export function tokensOf({ brand, basePath }: Look): string {
  const { color, onColor } = brand;
  // Away from the text on it, which stays as easy to read.
  const hover = `color-mix(in srgb, ${color} 88%, ${onColor === '#000000' ? '#ffffff' : '#000000'})`;
  return `@font-face{font-family:Geist;src:url("${fontAddress(basePath)}") format("woff2");font-weight:400 700;font-display:swap}
:root{--brand:${color};--on-brand:${onColor};--brand-hover:${hover}}
${css}`;
}

/** As a Content-Security-Policy names an inline script or style. */
export function hashOf(inline: string): string {
  return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
}
