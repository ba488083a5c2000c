import { fileURLToPath } from 'node:url';

/** The committed descriptions: of the public API, of the internal one and of the portal's server side. */
export const openApiFile = new URL('../../../openapi.json', import.meta.url);
export const internalOpenApiFile = new URL('../../../openapi.internal.json', import.meta.url);
export const portalOpenApiFile = new URL('../../../openapi.portal.json', import.meta.url);
/** The description of the public API in the last release. */
export const releasedOpenApiFile = new URL('../../../openapi.released.json', import.meta.url);

/** The path of a program that npm installed. */
export function rootProgram(name: string): string {
  return fileURLToPath(new URL(`node_modules/.bin/${name}`, openApiFile));
}

/** No look for a newer version, no report of use: nothing leaves this machine. */
export const redoclyEnv = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};
