import { BadArgument } from '../refusal.ts';
import { defineStep } from './operation.ts';
import { choice } from './parameter.ts';

export const extractChannel = defineStep({
  description: 'Shows one channel of the picture in shades of gray.',
  parameters: { channel: choice(['red', 'green', 'blue', 'alpha'], 'The channel to show.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 2,
  profile: () => 'srgb',
  fits({ hasAlpha }, { channel }) {
    if (channel !== 'alpha' || hasAlpha !== false) return undefined;
    const message = 'channel is alpha, but the picture has no transparency: ask for red, green or blue.';
    return new BadArgument('channel', message);
  },
  async apply(picture, { channel }) {
    (await picture.at('extractChannel')).extractChannel(channel);
    picture.hasAlpha = false;
  },
});
