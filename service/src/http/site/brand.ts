/** The look of the pages that the service renders: its name, its colour, its mark. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Config } from '../../settings/config.ts';
import { StartError } from '../../errors.ts';

export type Brand = {
  name: string;
  /** As `#rrggbb`. */
  color: string;
  /** Black or white, whichever is easier to read on the colour. */
  onColor: string;
  logo: Logo;
};
type Logo = { type: string; bytes: Buffer; /** Changes with the bytes. */ version: string };

const logoTypes: Record<string, string> = { '.svg': 'image/svg+xml', '.png': 'image/png' };
/** A logo is part of each first visit. */
const logoBytesMax = 100 * 1024;

/** Throws a `StartError` if the logo cannot be used. */
export async function loadBrand({
  serviceName,
  brand,
}: Pick<Config, 'serviceName' | 'brand'>): Promise<Brand> {
  const { color, logoFile } = brand;
  const onColor = luminance(color) > luminanceOfGrey ? '#000000' : '#ffffff';
  const logo =
    logoFile === null ? toLogo(defaultMark(color, onColor), '.svg') : await readLogo(logoFile);
  return { name: serviceName, color, onColor, logo };
}

async function readLogo(file: string): Promise<Logo> {
  const extension = extname(file).toLowerCase();
  if (!logoTypes[extension])
    throw new StartError(`BRAND_LOGO must be an .svg or .png file: ${file}`);
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`BRAND_LOGO cannot be read (${error.code}): ${file}`);
  });
  if (bytes.length > logoBytesMax)
    throw new StartError(`BRAND_LOGO must be at most 100 KiB: ${file}`);
  return toLogo(bytes, extension);
}

function toLogo(bytes: Buffer, extension: string): Logo {
  const version = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  return { type: logoTypes[extension] ?? '', bytes, version };
}

/** Three linked nodes: organisations in an alliance. */
function defaultMark(color: string, onColor: string): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${color}"/>` +
      `<g stroke="${onColor}" stroke-width="2.2" fill="${onColor}"><path d="M16 9 8.5 22h15Z" fill="none" stroke-linejoin="round"/>` +
      `<circle cx="16" cy="9" r="3.4"/><circle cx="8.5" cy="22" r="3.4"/><circle cx="23.5" cy="22" r="3.4"/></g></svg>`,
  );
}

/** Black and white have the same contrast with a colour of this luminance (WCAG 2.2, contrast ratio). */
const luminanceOfGrey = 0.179;

/** WCAG 2.2, relative luminance, from 0 to 1. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
