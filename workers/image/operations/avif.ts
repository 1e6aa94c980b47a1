import { BACKGROUND, CHROMA, EFFORT, LOSSLESS, QUALITY } from './encoder-settings.ts';
import { setting } from './operation.ts';

export const avif = setting({
  description: 'Writes an AVIF.',
  parameters: { ...QUALITY, ...LOSSLESS, ...EFFORT, ...CHROMA, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'avif' } }),
});
