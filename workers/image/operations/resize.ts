import { colourOf, isTranslucent } from '../colour.ts';
import { EDGE_LIMIT_PX, fitInto, place } from '../geometry.ts';
import { BadArgument } from '../refusal.ts';
import { anchorOf, scaleAndCrop } from './crop-to.ts';
import { step } from './operation.ts';
import { choice, colour, FOCAL, flag, gravity, integer, optional } from './parameter.ts';

export const resize = step({
  description: 'Scales the picture to a width, a height or both; at least one is needed.',
  parameters: {
    width: optional(integer(1, EDGE_LIMIT_PX, 'Width in pixels.')),
    height: optional(integer(1, EDGE_LIMIT_PX, 'Height in pixels.')),
    fit: choice(
      ['cover', 'contain', 'fill', 'inside', 'outside'],
      'cover crops, contain pads, fill stretches, inside stays within the box, outside reaches both its sides.',
      { default: 'inside' },
    ),
    gravity: optional(gravity('With cover, the part that is kept; with contain, the place in the padding.')),
    ...FOCAL,
    kernel: choice(
      ['nearest', 'linear', 'cubic', 'mitchell', 'lanczos2', 'lanczos3'],
      'How pixels are weighed.',
      { default: 'lanczos3' },
    ),
    enlarge: flag('Whether a smaller picture is scaled up.', { default: false }),
    linear: flag('Whether it is made smaller in linear light, which keeps the brightness of fine patterns.', {
      default: false,
    }),
    background: optional(colour('Colour of the padding with contain.')),
  },
  grey: 'keeps',
  copies: ({ enlarge }) => (enlarge ? 2 : 0),
  sizeAfter: 'said',
  alphaAfter: ({ fit, background }) => (fit === 'contain' && isTranslucent(background) ? true : undefined),
  changesNothing: 'never',
  cpuMsPerMegapixel: ({ enlarge }) => (enlarge ? 60 : 25),
  commutesWithFlatten: true,
  rule({ width, height }) {
    if (width !== undefined || height !== undefined) return undefined;
    return new BadArgument('width', 'width and height are both missing: a resize needs one of them.');
  },
  size: (input, { width, height, fit, enlarge }) => fitInto(input, { width, height }, fit, enlarge).result,
  async apply(picture, { width, height, fit, kernel, enlarge, linear, background, ...aim }, pass) {
    const fitting = fitInto(picture, { width, height }, fit, enlarge);
    // What is left to do then moves no brightness: it crops, or makes larger.
    if (linear) await picture.scaleLinear(fitting.scaled, kernel);
    if (fit === 'cover') return scaleAndCrop(picture, fitting, anchorOf(aim), kernel);
    await picture.scaleTo(fitting.scaled, kernel);
    if (fit !== 'contain') return;
    const anchor = anchorOf(aim);
    const { left, top } = place(
      fitting.scaled,
      fitting.result,
      typeof anchor === 'string' && anchor !== 'attention' && anchor !== 'entropy' ? anchor : 'center',
    );
    const right = fitting.result.width - fitting.scaled.width - left;
    const bottom = fitting.result.height - fitting.scaled.height - top;
    await picture.pad(
      { left, top, right, bottom },
      background === undefined ? pass.fill : colourOf(background, 'background'),
    );
  },
});
