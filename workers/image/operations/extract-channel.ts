import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation } from './operation.ts';
import { choiceParameter } from './parameter.ts';

export const extractChannelOperation = defineStepOperation({
  description: 'Shows one channel of the picture in shades of gray.',
  parameters: { channel: choiceParameter(['red', 'green', 'blue', 'alpha'], 'The channel to show.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 2,
  profile: () => 'srgb',
  fits({ hasAlpha }, { channel }) {
    if (channel !== 'alpha' || hasAlpha !== false) return undefined;
    const message = 'channel is alpha, but the picture has no transparency: ask for red, green or blue.';
    return new BadArgumentError('channel', message);
  },
  async apply(picture, { channel }) {
    (await picture.at('extractChannel')).extractChannel(channel);
    picture.hasAlpha = false;
  },
});
