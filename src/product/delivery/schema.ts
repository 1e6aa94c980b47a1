import { type Static, Type } from '@sinclair/typebox';
import { anyObjectField, componentSchema, oneOfField, textField } from '../../platform/http/fields.ts';
import { WITHIN_PARAMETERS } from '../catalogue/index.ts';
import { PresetStep } from '../catalogue/plan/step.ts';
import { ADDRESS_EXTENSIONS } from './address.ts';

export const MAX_SIGNING_KEYS = 10;

export const SigningKey = componentSchema('SigningKey', {
  id: textField('`sgk_…`: the first part of the addresses that it signs.'),
  name: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
});
export type SigningKey = Static<typeof SigningKey>;

export const NewSigningKey = Type.Composite(
  [SigningKey, Type.Object({ secret: textField('`sgs_…`, shown once. Its text is the HMAC key.') })],
  { title: 'NewSigningKey' },
);

export const NewSigningKeyBody = Type.Object(
  { name: Type.Optional(Type.String({ maxLength: 100 })) },
  { title: 'NewSigningKeyBody', additionalProperties: false, examples: [{ name: 'Shop' }] },
);
export type NewSigningKeyBody = Static<typeof NewSigningKeyBody>;

export const SigningKeyParams = Type.Object({ keyId: Type.String() });
export type SigningKeyParams = Static<typeof SigningKeyParams>;

/** The maximum number of links that one call makes. */
const MAX_LINKS = 100;
/** The longest lifetime of a link, in seconds: ten years. */
const MAX_LINK_SECONDS = 315_360_000;

const linkFields = {
  assetId: Type.Optional(Type.String({ minLength: 1, description: 'The picture; or url.' })),
  url: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4_000, description: 'A public http(s) address of the picture.' }),
  ),
  op: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'A deterministic op; or steps, or preset. Default with widths: resize.',
    }),
  ),
  parameters: Type.Optional(anyObjectField('Those of op.')),
  steps: Type.Optional(Type.Array(PresetStep, { minItems: 1, maxItems: 20 })),
  preset: Type.Optional(
    Type.String({ minLength: 1, description: 'Slug, id or slug@version; the address names the version.' }),
  ),
  format: Type.Optional(
    oneOfField(
      ADDRESS_EXTENSIONS,
      'auto: the smallest that the reader takes. Default: auto with widths, else that of the work.',
    ),
  ),
  widths: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 8_192 }), {
      minItems: 1,
      maxItems: 32,
      description: 'Makes a family: the browser chooses among these widths. Ascending.',
    }),
  ),
  expiresInSeconds: Type.Optional(
    Type.Integer({ minimum: 60, maximum: MAX_LINK_SECONDS, description: 'Default: no end.' }),
  ),
};

/** Unknown fields are refused. Otherwise the caller would get a link that ignores them. */
const LINK_OPTIONS = {
  additionalProperties: false,
  elsewhere: 'what an op takes goes into parameters',
  within: WITHIN_PARAMETERS,
};

export const NewDeliveryLink = Type.Object(linkFields, { title: 'NewDeliveryLink', ...LINK_OPTIONS });
export type NewDeliveryLink = Static<typeof NewDeliveryLink>;

export const NewDeliveryLinks = Type.Object(
  {
    ...linkFields,
    links: Type.Optional(
      Type.Array(NewDeliveryLink, {
        minItems: 1,
        maxItems: MAX_LINKS,
        description: 'Several at once, instead of the other fields.',
      }),
    ),
  },
  {
    ...{ title: 'NewDeliveryLinks', ...LINK_OPTIONS },
    examples: [
      {
        url: 'https://example.com/cat.jpg',
        op: 'resize',
        parameters: { width: 640 },
        format: 'webp',
      },
      { assetId: 'ast_000000000000000000000000', widths: [320, 640, 1280] },
    ],
  },
);
export type NewDeliveryLinks = Static<typeof NewDeliveryLinks>;

const deliveryLinkFields = {
  url: Type.String({ format: 'uri' }),
  srcset: Type.Optional(
    textField(
      'The rungs of a family, each with the width that it answers. The rungs above the first that reaches the own width of an asset are left out, because they answer the same picture.',
    ),
  ),
  sizes: Type.Optional(Type.String()),
  html: textField('One `<img>`.'),
  preset: Type.Optional(textField('`slug@version` that was saved for this, or found.')),
};

export const DeliveryLink = componentSchema('DeliveryLink', deliveryLinkFields);
export type DeliveryLink = Static<typeof DeliveryLink>;

/** The response: one link, or a list of links if the request contained a list. */
export const DeliveryLinks = Type.Object(
  {
    ...Type.Partial(DeliveryLink).properties,
    links: Type.Optional(Type.Array(DeliveryLink, { description: 'In the order of the call.' })),
  },
  { title: 'DeliveryLinks' },
);
