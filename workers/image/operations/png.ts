import { BACKGROUND, COLORS, EFFORT, PROGRESSIVE, QUALITY } from './encoder-settings.ts';
import { setting } from './operation.ts';
import { flag, optional } from './parameter.ts';

export const png = setting({
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
