import { BACKGROUND, EFFORT, LOSSLESS, QUALITY } from './encoder-settings.ts';
import { setting } from './operation.ts';

export const webp = setting({
  description: 'Writes a WebP.',
  parameters: { ...QUALITY, ...LOSSLESS, ...EFFORT, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'webp' } }),
});
