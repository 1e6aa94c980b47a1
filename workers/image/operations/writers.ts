import { BACKGROUND, CHROMA, COLORS, EFFORT, LOSSLESS, PROGRESSIVE, QUALITY } from './encoder-settings.ts';
import { defineSetting } from './operation.ts';
import { flag, optional } from './parameter.ts';

export const jpeg = defineSetting({
  description: 'Writes a JPEG.',
  parameters: { ...QUALITY, ...EFFORT, ...PROGRESSIVE, ...CHROMA, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'jpeg' } }),
});

export const png = defineSetting({
  description: 'Writes a PNG; quality counts with a palette only.',
  parameters: {
    ...QUALITY,
    palette: optional(flag('Whether a png is reduced to a palette.')),
    ...COLORS,
    ...EFFORT,
    ...PROGRESSIVE,
    ...BACKGROUND,
  },
  settings: (params) => ({ encode: { ...params, format: 'png' } }),
});

export const webp = defineSetting({
  description: 'Writes a WebP.',
  parameters: { ...QUALITY, ...LOSSLESS, ...EFFORT, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'webp' } }),
});

export const avif = defineSetting({
  description: 'Writes an AVIF.',
  parameters: { ...QUALITY, ...LOSSLESS, ...EFFORT, ...CHROMA, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'avif' } }),
});

export const gif = defineSetting({
  description: 'Writes a GIF.',
  parameters: { ...COLORS, ...EFFORT, ...PROGRESSIVE, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'gif' } }),
});

export const tiff = defineSetting({
  description: 'Writes a TIFF, lossless unless a quality is given.',
  parameters: { ...QUALITY, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'tiff' } }),
});
