import { type Static, Type } from '@sinclair/typebox';
import { ImageObject, ImageTags, PALETTE_SIZE_SCHEMA } from '../../imaging/images/image-object.ts';
import { READABLE_MEDIA_TYPES } from '../../platform/http/bodies/image-body.ts';
import {
  componentSchema,
  flagField,
  HTTP_ADDRESS_SCHEMA,
  instantField,
  textField,
} from '../../platform/http/fields.ts';
import { PagingQuery } from '../../platform/http/lists.ts';
import { DEFAULT_HASH_DISTANCE, MAX_HASH_DISTANCE } from './likeness.ts';
import {
  DEFAULT_LINK_LIFE_SECONDS,
  MAX_UPLOAD_BYTES,
  MIN_TICKET_LIFE_MS,
  UPLOAD_URL_LIFE_MS,
} from './limits.ts';

export const MAX_ASSET_NAME_CHARACTERS = 255;

const AssetStatus = Type.Unsafe<'PENDING' | 'DONE' | 'FAILED'>({
  type: 'string',
  enum: ['PENDING', 'DONE', 'FAILED'],
});
const AssetOrigin = Type.Unsafe<'upload' | 'job'>({ type: 'string', enum: ['upload', 'job'] });

export const Asset = componentSchema('Asset', {
  id: Type.String(),
  status: AssetStatus,
  name: Type.Optional(Type.String()),
  collection: Type.Optional(Type.String()),
  origin: AssetOrigin,
  jobId: Type.Optional(Type.String()),
  itemIndex: Type.Optional(Type.Integer()),
  image: Type.Optional(ImageObject),
  metadata: Type.Optional(ImageTags),
  createdAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.Optional(instantField('When it is deleted; absent on one that stays.')),
});
export type Asset = Static<typeof Asset>;

/** An asset in a list. In a list of similar assets, it has a distance. */
export const ListedAsset = componentSchema('ListedAsset', {
  ...Asset.properties,
  distance: Type.Optional(
    Type.Integer({ description: 'With similarTo: bits in which the perceptual hashes differ.' }),
  ),
});

const name = Type.String({ maxLength: MAX_ASSET_NAME_CHARACTERS, description: 'What downloads are called.' });
/** Text without control characters and without spaces at its ends. */
const COLLECTION_NAME_KEYWORDS = {
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$',
};
const collection = Type.String({
  description: '1 to 64 characters; one that does not exist is created.',
  documented: COLLECTION_NAME_KEYWORDS,
});

/** The query fields that select what the response to an upload says about its image. */
const responseFields = {
  metadata: Type.Optional(
    flagField('true: the answer has the tags of the file; reading the asset always has.'),
  ),
  palette: Type.Optional(PALETTE_SIZE_SCHEMA),
};

export const UploadQuery = Type.Object({
  collection: Type.Optional(collection),
  name: Type.Optional(name),
  ...responseFields,
});
export type UploadQuery = Static<typeof UploadQuery>;

/** The response to an upload: the asset of its only file, or the results of several files. */
export const UploadResult = componentSchema('Uploaded', {
  ...Type.Partial(Asset).properties,
  assets: Type.Optional(
    Type.Array(Asset, {
      description: 'Of several files, instead of the other fields: the asset of each, in their order.',
    }),
  ),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Of the file, from 0.' }),
        name: Type.Optional(Type.String()),
        error: Type.Unknown({ description: 'As the error of a call with this file alone.' }),
      }),
      { description: 'The files of several that are not assets. The others are not affected.' },
    ),
  ),
});
export type UploadResult = Static<typeof UploadResult>;

/** The body of an upload by URL, in JSON. */
export const UrlUploadBody = Type.Object(
  { url: Type.String({ minLength: 1, documented: HTTP_ADDRESS_SCHEMA }) },
  { title: 'UrlUpload', examples: [{ url: 'https://example.com/photo.jpg' }] },
);

export const AssetReservationBody = Type.Object(
  {
    contentType: Type.String({ enum: READABLE_MEDIA_TYPES }),
    name: Type.Optional(name),
    collection: Type.Optional(collection),
  },
  {
    title: 'Reservation',
    additionalProperties: false,
    examples: [{ contentType: 'image/jpeg', name: 'photo.jpg', collection: 'products' }],
  },
);
export type AssetReservationBody = Static<typeof AssetReservationBody>;

export const ReservedAsset = componentSchema('Reserved', {
  asset: Asset,
  upload: Type.Object({
    method: Type.Literal('PUT'),
    url: textField('Signed and for a single use: no credential is sent with it.'),
    headers: Type.Record(Type.String(), Type.String()),
    expiresAt: Type.String({ format: 'date-time' }),
  }),
});

export const UploadTicketBody = Type.Object(
  {
    contentTypes: Type.Optional(
      Type.Array(Type.String({ enum: READABLE_MEDIA_TYPES }), {
        minItems: 1,
        maxItems: READABLE_MEDIA_TYPES.length,
        description: 'What the image may be; every type that is read when left out.',
      }),
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_UPLOAD_BYTES,
        description: `Largest image; ${MAX_UPLOAD_BYTES} when left out.`,
      }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({
        minimum: MIN_TICKET_LIFE_MS / 1000,
        maximum: UPLOAD_URL_LIFE_MS / 1000,
        description: `Seconds; default ${UPLOAD_URL_LIFE_MS / 1000}.`,
      }),
    ),
    name: Type.Optional(name),
    collection: Type.Optional(collection),
  },
  {
    title: 'UploadTicketRequest',
    additionalProperties: false,
    examples: [{ contentTypes: ['image/jpeg', 'image/png'], maxBytes: 5_000_000 }],
  },
);
export type UploadTicketBody = Static<typeof UploadTicketBody>;

export const UploadTicket = componentSchema('UploadTicket', {
  assetId: textField('The asset that the upload makes: its id can be used afterwards.'),
  method: Type.Literal('POST'),
  url: textField('Signed and for a single use: no credential is sent with it.'),
  contentTypes: Type.Array(Type.String()),
  maxBytes: Type.Integer(),
  expiresAt: Type.String({ format: 'date-time' }),
});
export type UploadTicket = Static<typeof UploadTicket>;

export const AssetParams = Type.Object({ assetId: Type.String() });
export type AssetParams = Static<typeof AssetParams>;

export const AssetListQuery = Type.Object({
  collection: Type.Optional(Type.String()),
  status: Type.Optional(AssetStatus),
  origin: Type.Optional(AssetOrigin),
  jobId: Type.Optional(Type.String()),
  similarTo: Type.Optional(
    textField(
      'An asset: lists those that look like it, nearest first, of those that the other filters select.',
    ),
  ),
  distance: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_HASH_DISTANCE,
      description: `With similarTo: the most bits in which perceptual hashes may differ; default ${DEFAULT_HASH_DISTANCE}.`,
    }),
  ),
  ...PagingQuery,
});
export type AssetListQuery = Static<typeof AssetListQuery>;

/** The query fields that every signed link has. */
const signedQueryFields = {
  owner: Type.Optional(Type.String()),
  expires: Type.Optional(Type.String()),
  signature: Type.Optional(Type.String()),
};

export const SignedUploadQuery = Type.Object({ ...signedQueryFields, ...responseFields });
export type SignedUploadQuery = Static<typeof SignedUploadQuery>;

/** The query of a ticket's address. The limits of the upload are signed with it. */
export const UploadTicketQuery = Type.Object({
  contentTypes: Type.Optional(Type.String()),
  maxBytes: Type.Optional(Type.String()),
  ...signedQueryFields,
});
export type UploadTicketQuery = Static<typeof UploadTicketQuery>;

/** The sizes of previews: the longest side in pixels. There are only three, so that caches can reuse previews often. */
const PREVIEW_EDGES = [64, 128, 256] as const;

export const AssetContentQuery = Type.Object({
  preview: Type.Optional(
    Type.Unsafe<(typeof PREVIEW_EDGES)[number]>({
      type: 'integer',
      enum: PREVIEW_EDGES,
      description: 'A WebP of the first frame instead, no edge of which is longer than these pixels.',
    }),
  ),
  download: Type.Optional(flagField('true names the file in Content-Disposition.')),
  ...signedQueryFields,
});
export type AssetContentQuery = Static<typeof AssetContentQuery>;

const LINK_LIFE_SECONDS_BOUNDS = { minimum: 60, maximum: 604_800 };

export const AssetLinkQuery = Type.Object({
  expiresInSeconds: Type.Optional(
    Type.Integer({
      ...LINK_LIFE_SECONDS_BOUNDS,
      description: `How long the link is valid; default ${DEFAULT_LINK_LIFE_SECONDS}.`,
    }),
  ),
  expiresIn: Type.Optional(
    Type.Integer({
      ...LINK_LIFE_SECONDS_BOUNDS,
      deprecated: true,
      description: 'The former name of expiresInSeconds.',
    }),
  ),
});
export type AssetLinkQuery = Static<typeof AssetLinkQuery>;

export const AssetLink = componentSchema('Link', {
  url: textField('Readable without a credential until then.'),
  expiresAt: Type.String({ format: 'date-time' }),
});

export const AssetCollection = componentSchema('AssetCollection', {
  name: Type.String(),
  assets: Type.Integer(),
  updatedAt: instantField('When it was made, or last got an asset.'),
});
export type AssetCollection = Static<typeof AssetCollection>;

export const NewAssetCollectionBody = Type.Object(
  { name: Type.String({ documented: COLLECTION_NAME_KEYWORDS }) },
  { title: 'NewCollection', additionalProperties: false, examples: [{ name: 'products' }] },
);
export type NewAssetCollectionBody = Static<typeof NewAssetCollectionBody>;

export const AssetCollectionParams = Type.Object({ name: Type.String() });
export type AssetCollectionParams = Static<typeof AssetCollectionParams>;
