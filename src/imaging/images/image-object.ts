import { type Static, Type } from '@sinclair/typebox';

/** The schema of the query field for the number of palette colours. */
export const PALETTE_SIZE_SCHEMA = Type.Integer({
  minimum: 2,
  maximum: 12,
  description: 'Measures the main colours, at most this many.',
});

/** The image object of the API: the metadata endpoint returns it, and an asset contains it. */
export const ImageObject = Type.Object(
  {
    mimeType: Type.String(),
    format: Type.String(),
    width: Type.Integer({ description: 'As displayed, after EXIF orientation.' }),
    height: Type.Integer(),
    orientation: Type.Integer({ description: 'EXIF value, 1 to 8.' }),
    bytes: Type.Integer(),
    sha1: Type.String(),
    hasAlpha: Type.Boolean(),
    isOpaque: Type.Boolean(),
    frames: Type.Integer(),
    density: Type.Union([Type.Number(), Type.Null()]),
    colorSpace: Type.String(),
    bitDepth: Type.Integer(),
    dominantColor: Type.String({ description: '#rrggbb' }),
    averageColor: Type.String({ description: '#rrggbb' }),
    entropy: Type.Number(),
    sharpness: Type.Number(),
    thumbhash: Type.String({ description: 'Base64.' }),
    /** Absent on pictures that were stored by a version that did not compute it yet. */
    blurhash: Type.Optional(
      Type.String({ description: 'BlurHash of 4 × 3 parts, or 3 × 4 of an upright picture.' }),
    ),
    /** Absent on pictures that were stored before it was measured. */
    perceptualHash: Type.Optional(
      Type.String({
        description: '64 bits as 16 hex digits. Pictures that look alike differ in few of them.',
      }),
    ),
    /** Only in the response to a call that requests a palette. It is not stored. */
    palette: Type.Optional(
      Type.Array(
        Type.Object({
          color: Type.String({ description: '#rrggbb' }),
          share: Type.Number({ description: 'Of the visible pixels, 0 to 1.' }),
        }),
        {
          description:
            'With `palette` in the query: the main colours, the largest share first; fewer where fewer can be told apart, none where nothing is visible.',
        },
      ),
    ),
  },
  { title: 'ImageObject' },
);
export type ImageObject = Static<typeof ImageObject>;

export const ImageTags = Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
  description: 'Tags under their own names, by group (exif, iptc, xmp, icc, png, …); no binary values.',
});
export type ImageTags = Static<typeof ImageTags>;
