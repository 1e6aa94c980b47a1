import { type Static, Type } from '@sinclair/typebox';
import {
  componentSchema,
  flagField,
  instantField,
  NOT_BLANK_SCHEMA,
  textField,
  UNRESERVED_SLUG_SCHEMA,
  VERSIONED_REFERENCE_SCHEMA,
} from '../../platform/http/fields.ts';
import { PagingQuery } from '../../platform/http/lists.ts';
import { MAX_SLUG_CHARACTERS, SLUG_PATTERN } from '../../platform/ids/slugs.ts';
import { TEMPLATE_VARIABLE_PATTERN } from './placeholders.ts';

export const MAX_TEMPLATE_NAME_CHARACTERS = 200;
export const MAX_TEMPLATE_HTML_BYTES = 256 * 1024;
export const MAX_TEMPLATE_CSS_BYTES = 128 * 1024;
export const MAX_TEMPLATE_SIDE_PX = 4096;

/** A number of bytes as text, such as `262,144 bytes (256 KB)`. */
export function byteSizeText(bytes: number): string {
  return `${bytes.toLocaleString('en-US')} bytes (${bytes / 1024} KB)`;
}

export const MAX_TEMPLATE_VARIABLES = 100;
/**
 * The maximum length of a description. Real descriptions are far shorter; the limit exists because lists of templates
 * contain them.
 */
const MAX_DESCRIPTION_CHARACTERS = 10_000;

/** A declared variable: its name, or an object that also says whether a row may omit it. */
export const DeclaredVariable = Type.Union([
  textField('A name.'),
  Type.Object(
    {
      name: Type.String(),
      optional: Type.Optional(flagField('Whether an empty one is worth no warning.')),
    },
    { additionalProperties: false },
  ),
]);
export type DeclaredVariable = Static<typeof DeclaredVariable>;

const sideField = (name: string) =>
  Type.Integer({
    minimum: 1,
    maximum: MAX_TEMPLATE_SIDE_PX,
    format: 'int32',
    description: `${name} of the picture, 1 to ${MAX_TEMPLATE_SIDE_PX} px.`,
  });

const contentFields = {
  name: Type.String({
    maxLength: MAX_TEMPLATE_NAME_CHARACTERS,
    description: 'Not blank.',
    documented: NOT_BLANK_SCHEMA,
  }),
  description: Type.String({
    maxLength: MAX_DESCRIPTION_CHARACTERS,
    description: 'Free text, not rendered. An empty string on PUT empties it.',
  }),
  html: Type.String({
    minLength: 1,
    description: `At most ${byteSizeText(MAX_TEMPLATE_HTML_BYTES)} of UTF-8. \`{{ name }}\` is filled escaped, \`{{{ name }}}\` raw. Scripts never run; only data: URIs and the account's own assets are loaded. A picture has no time: animations and transitions that end are drawn at their end, others before they move.`,
  }),
  css: textField(
    `At most ${byteSizeText(MAX_TEMPLATE_CSS_BYTES)} of UTF-8; placeholders are filled here too. An empty string on PUT empties it.`,
  ),
  width: sideField('Width'),
  height: sideField('Height'),
  variables: Type.Array(DeclaredVariable, {
    maxItems: MAX_TEMPLATE_VARIABLES,
    description:
      'Names of the placeholders: letters, digits, `_` and `.`. Derived from html and css when omitted. One that a row may leave empty is `{"name": "subtitle", "optional": true}`: it gives no `empty_variable` warning.',
  }),
};

const slug = Type.String({
  pattern: SLUG_PATTERN,
  maxLength: MAX_SLUG_CHARACTERS,
  description: 'Unique in the account. Made from the name when omitted; `builtin-` is reserved.',
  documented: UNRESERVED_SLUG_SCHEMA,
});

const variableName = { type: 'string', pattern: TEMPLATE_VARIABLE_PATTERN };

/** Variables as they were sent. The schema accepts any value, because rules.ts checks them with better errors. */
const uncheckedVariables = Type.Array(
  Type.Unsafe<DeclaredVariable>({
    description: 'A name, as text, or an object with the name and optional.',
    documented: {
      anyOf: [
        variableName,
        {
          type: 'object',
          properties: { name: variableName, optional: { type: 'boolean' } },
          required: ['name'],
          additionalProperties: false,
        },
      ],
    },
  }),
  { maxItems: MAX_TEMPLATE_VARIABLES, description: contentFields.variables.description ?? '' },
);

/** The fields of a page that a render can send instead of a stored template's name. */
export const RENDER_PAGE_FIELDS = {
  html: contentFields.html,
  css: contentFields.css,
  width: contentFields.width,
  height: contentFields.height,
};

/** An entry of an import: a template without its slug. Other fields are ignored. */
export const TemplateEntry = Type.Object({
  ...contentFields,
  description: Type.Optional(contentFields.description),
  css: Type.Optional(contentFields.css),
  variables: Type.Optional(uncheckedVariables),
});
export type TemplateEntry = Static<typeof TemplateEntry>;

/** The content of one version of a template, with its defaults filled in. */
export type TemplateContent = Required<TemplateEntry>;

/** The body of POST /templates. */
export const NewTemplate = Type.Object(
  { ...TemplateEntry.properties, slug: Type.Optional(slug) },
  {
    title: 'NewTemplate',
    examples: [{ name: 'Card', html: '<h1>{{ title }}</h1>', width: 600, height: 300 }],
  },
);
export type NewTemplate = Static<typeof NewTemplate>;

/** The body of PUT /templates/{id}. Fields that are missing keep their value. */
export const TemplateChange = Type.Partial(NewTemplate, {
  title: 'TemplateChange',
  examples: [{ name: 'Card, wide' }],
});
export type TemplateChange = Static<typeof TemplateChange>;

/**
 * The body of POST /templates/import. The schema accepts any entry; entries are checked one by one, so that an invalid
 * one does not affect the others.
 */
export const TemplateEntries = Type.Array(
  Type.Unsafe<unknown>({
    description: 'As the body of POST /api/v1/templates. Slug, version and history are not carried over.',
  }),
  {
    title: 'TemplateEntries',
    minItems: 1,
    examples: [[{ name: 'Card', html: '<h1>{{ title }}</h1>', width: 600, height: 300 }]],
  },
);

const identityFields = {
  id: textField('`tpl_…`; of a built-in `builtin-template-…`; of one version `<id>@<version>`.'),
  builtIn: Type.Boolean(),
  version: Type.Integer({ format: 'int32' }),
  createdAt: Type.String({ format: 'date-time' }),
};
const updatedAt = instantField('When the current version was saved.');

/** A template in a response. If it was read with `@version`, it has no slug, description or updatedAt. */
export const TemplateData = componentSchema('TemplateData', {
  ...identityFields,
  ...contentFields,
  slug: Type.Optional(Type.String()),
  description: Type.Optional(contentFields.description),
  updatedAt: Type.Optional(updatedAt),
});
export type TemplateData = Static<typeof TemplateData>;

/** A row of the listing: a template without html and css. */
export const TemplateSummary = componentSchema('TemplateSummary', {
  ...identityFields,
  name: contentFields.name,
  slug: Type.String(),
  description: contentFields.description,
  width: contentFields.width,
  height: contentFields.height,
  variables: contentFields.variables,
  updatedAt,
});
export type TemplateSummary = Static<typeof TemplateSummary>;

export const TemplateListQuery = Type.Object({
  filter: Type.Optional(Type.Unsafe<'builtin' | 'user'>({ type: 'string', enum: ['builtin', 'user'] })),
  ...PagingQuery,
});
export type TemplateListQuery = Static<typeof TemplateListQuery>;

export const TemplateParams = Type.Object({
  templateId: Type.String({
    description: 'Template id or own slug; id@version if the endpoint reads a version.',
    documented: VERSIONED_REFERENCE_SCHEMA,
  }),
});
export type TemplateParams = Static<typeof TemplateParams>;

export function variableNameOf(variable: DeclaredVariable): string {
  return typeof variable === 'string' ? variable : variable.name;
}

/** The names of the variables that a row may omit. */
export function optionalVariableNames(variables: readonly DeclaredVariable[]): string[] {
  return variables.flatMap((variable) =>
    typeof variable !== 'string' && variable.optional === true ? [variable.name] : [],
  );
}
