/** A page of the documentation before it is rendered. */
export type Page = {
  /** Below `/docs`; empty for the first page. */
  path: string;
  /** The heading of the page, which is its name in the navigation and in the search too. */
  title: string;
  markdown: string;
  /** The file, relative to the root of the repository; null for pages made from openapi.json. */
  source: string | null;
  /** The request that this page can send. */
  request?: SampleRequest;
};

/** `kind`: what the search calls its pages. */
export type Section = { title: string; kind: string; pages: Page[] };

/** A request with the example values of openapi.json. */
export type SampleRequest = {
  operationId: string;
  method: string;
  /** With `{slug}` and the like. */
  path: string;
  parameters: Parameter[];
  body: unknown;
  /** Null: needs no key. */
  scope: string | null;
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: Schema;
  example: string;
};

export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  format?: string;
  enum?: string[];
  'x-extensible-enum'?: string[];
  const?: unknown;
  default?: unknown;
  examples?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
};

/** The HTML address of a page. The service replaces `{{base}}` with the path of its public address. */
export const addressOf = (path: string) => `{{base}}/docs${path && `/${path}`}`;

/** The first heading: the whole page has one name. */
export function titled(page: Omit<Page, 'title'>): Page {
  const [, title] = /^# (.+)$/m.exec(page.markdown) ?? [];
  if (title === undefined) throw new Error(`${page.source ?? page.path} has no heading`);
  return { ...page, title: title.replaceAll('`', '') };
}
