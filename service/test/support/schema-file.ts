/** The committed description of the schema. */
export const schemaFile = new URL('../../schema.sql', import.meta.url);
