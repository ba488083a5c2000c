import { Type, type TSchema } from 'typebox';
import { orNull, requiredText } from './field.ts';
import { aliasPattern, namePattern } from './patterns.ts';
import { nullable, strictObject, time, webAddress } from './shapes.ts';

export const name = (example: string) =>
  requiredText('name', 'The name.', example, { maxLength: 200, pattern: namePattern });

const Links = strictObject(
  {
    website: nullable(webAddress({ description: 'The URL of the web site.' })),
    chat: nullable(webAddress({ description: 'The URL of the chat.' })),
    video: nullable(webAddress({ description: 'The URL of the video channel.' })),
    social: nullable(webAddress({ description: 'The URL of the page on a social network.' })),
  },
  { title: 'Links', description: 'Links to other sites.' },
);
const link = orNull(webAddress(), {});

export const links = {
  column: 'links',
  type: 'jsonb',
  schema: Links,
  input: strictObject(
    { website: link, chat: link, video: link, social: link } satisfies Record<
      keyof typeof Links.properties,
      TSchema
    >,
    { default: {}, description: 'Links to other sites.' },
  ),
};

/** Per organisation or alliance. */
export const aliasesMax = 10;
export const aliasLengthMax = 100;
const alias = Type.String({
  minLength: 1,
  maxLength: aliasLengthMax,
  pattern: aliasPattern,
});

/** A write that omits them keeps them. */
export const aliases = {
  column: 'aliases',
  type: 'jsonb',
  schema: Type.Array(Type.String(), {
    description: 'Other names: former ones, acronyms, other scripts.',
    examples: [['Acme Industries']],
  }),
  input: Type.Optional(
    Type.Array(alias, {
      maxItems: aliasesMax,
      uniqueItems: true,
      description: 'All other names. If omitted, they stay the same.',
    }),
  ),
};

/** Per organisation or alliance. So many addresses stay far below the length limit of an imported line. */
export const managersMax = 2_000;

/** Stored in their own table. A write that omits them keeps them, because bindings of apps depend on them. */
export const managers = {
  schema: Type.Array(Type.String(), {
    description: 'The email addresses of the managers, sorted.',
    examples: [['ada@example.org']],
  }),
  input: Type.Optional(
    Type.Array(Type.String({ minLength: 3, maxLength: 254 }), {
      maxItems: managersMax,
      description: 'The email addresses of all managers. If omitted, the managers stay the same.',
    }),
  ),
};

export const times = {
  createdAt: {
    column: 'created_at',
    type: 'timestamptz(3)',
    schema: time({ description: 'When the object was created.' }),
  },
  updatedAt: {
    column: 'updated_at',
    type: 'timestamptz(3)',
    schema: time({ description: 'When a field of this object last changed.' }),
  },
};
