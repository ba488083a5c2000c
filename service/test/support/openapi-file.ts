/** The committed descriptions, of the public API and of the internal one. */
export const openApiFile = new URL('../../../openapi.json', import.meta.url);
export const internalOpenApiFile = new URL('../../../openapi.internal.json', import.meta.url);
