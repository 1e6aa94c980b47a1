import { BACKGROUND, COLORS, EFFORT, PROGRESSIVE } from './encoder-settings.ts';
import { setting } from './operation.ts';

export const gif = setting({
  description: 'Writes a GIF.',
  parameters: { ...COLORS, ...EFFORT, ...PROGRESSIVE, ...BACKGROUND },
  settings: (params) => ({ encode: { ...params, format: 'gif' } }),
});
