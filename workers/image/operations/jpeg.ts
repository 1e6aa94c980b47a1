import { BACKGROUND, CHROMA, EFFORT, PROGRESSIVE, QUALITY } from './encoder-settings.ts';
import { setting } from './operation.ts';

export const jpeg = setting({
  description: 'Writes a JPEG.',
  parameters: { ...QUALITY, ...EFFORT, ...PROGRESSIVE, ...CHROMA, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'jpeg' } }),
});
