/** The committed descriptions: of the public API, of the internal one and of the portal's server side. */
export const openApiFile = new URL('../../../openapi.json', import.meta.url);
export const internalOpenApiFile = new URL('../../../openapi.internal.json', import.meta.url);
export const portalOpenApiFile = new URL('../../../openapi.portal.json', import.meta.url);
