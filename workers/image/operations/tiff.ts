import { BACKGROUND, QUALITY } from './encoder-settings.ts';
import { setting } from './operation.ts';

export const tiff = setting({
  description: 'Writes a TIFF, lossless unless a quality is given.',
  parameters: { ...QUALITY, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'tiff' } }),
});
