/** The committed description. */
export const openApiFile = new URL('../../../openapi.json', import.meta.url);
