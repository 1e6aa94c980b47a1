import type { Size } from '../../formats/size.ts';
import type { PassWarning } from '../../protocol.ts';
import { backgroundOr, isTranslucent } from '../colour/colour.ts';
import { changedSizeFault, type Fit, fitInto, MAX_EDGE_PX, place } from '../pixels/geometry.ts';
import { BadArgument } from '../refusal.ts';
import { pad, scaleLinear, scaleTo } from '../sizing.ts';
import { anchorOf, scaleAndCrop } from './crop-to.ts';
import { defineStep } from './operation.ts';
import { choice, colour, FOCAL_POINT_PARAMETERS, flag, gravity, integer, optional } from './parameter.ts';

export const resize = defineStep({
  description:
    'Scales the picture to a width, a height or both, keeping its shape unless fit says otherwise.',
  parameters: {
    width: optional(integer(1, MAX_EDGE_PX, 'Width in pixels; width, height or both are needed.')),
    height: optional(integer(1, MAX_EDGE_PX, 'Height in pixels; width, height or both are needed.')),
    fit: choice(
      ['cover', 'contain', 'fill', 'inside', 'outside'],
      'How the picture meets width and height: cover crops, contain pads, fill stretches, inside stays within, outside reaches both.',
      { default: 'inside' },
    ),
    gravity: optional(
      gravity('With fit cover or contain, the part that is kept or the place in the padding.'),
    ),
    ...FOCAL_POINT_PARAMETERS,
    kernel: optional(
      choice(
        ['nearest', 'linear', 'cubic', 'mitchell', 'lanczos2', 'lanczos3'],
        'How pixels are weighed; nearest keeps hard edges, lanczos3 is the default.',
      ),
    ),
    enlarge: flag('Whether a picture smaller than asked for is scaled up.', { default: false }),
    linear: optional(
      flag(
        'Whether the picture is made smaller in linear light, which keeps the brightness of fine patterns and takes longer.',
      ),
    ),
    background: optional(colour('Colour of the padding with contain.')),
  },
  grey: 'keeps',
  copies: ({ enlarge, kernel, linear }) => (enlarge || linear || kernel === 'nearest' ? 2 : 0),
  sizeAfter: 'given',
  alphaAfter({ fit, background }) {
    if (fit !== 'contain') return 'kept';
    return isTranslucent(background) ? true : undefined;
  },
  cpuMsPerMegapixel: ({ enlarge }) => (enlarge ? 60 : 25),
  commutesWithFlatten: true,
  rule({ width, height }) {
    if (width !== undefined || height !== undefined) return undefined;
    return new BadArgument('width', 'width and height are both missing: send at least one.', {
      missing: ['width', 'height'],
    });
  },
  fits: (picture, { width, height, fit, enlarge }) =>
    changedSizeFault(picture, fitInto(picture, { width, height }, fit, enlarge).result),
  warningsAbout: (input, { width, height, fit, enlarge }) =>
    notEnlarged(input, { width, height }, fit, enlarge),
  size: (input, { width, height, fit, enlarge }) => fitInto(input, { width, height }, fit, enlarge).result,
  scalesTo: (input, { width, height, fit, kernel, enlarge, linear }) =>
    linear || kernel === 'nearest' ? undefined : fitInto(input, { width, height }, fit, enlarge).scaled,
  async apply(
    picture,
    { width, height, fit, kernel = 'lanczos3', enlarge, linear, background, ...aim },
    pass,
  ) {
    const fitting = fitInto(picture, { width, height }, fit, enlarge);
    // The steps after this one do not average pixels: they crop, or enlarge.
    if (linear) await scaleLinear(picture, fitting.scaled, kernel);
    if (fit === 'cover') return scaleAndCrop(picture, fitting, anchorOf(aim), kernel);
    await scaleTo(picture, fitting.scaled, kernel);
    if (fit !== 'contain') return;
    const anchor = anchorOf(aim);
    const { left, top } = place(
      fitting.scaled,
      fitting.result,
      typeof anchor === 'string' && anchor !== 'attention' && anchor !== 'entropy' ? anchor : 'center',
    );
    const right = fitting.result.width - fitting.scaled.width - left;
    const bottom = fitting.result.height - fitting.scaled.height - top;
    await pad(picture, { left, top, right, bottom }, backgroundOr(pass.fill, background));
  },
});

type RequestedSize = { width: number | undefined; height: number | undefined };

/** A warning if the picture stays smaller than the requested size, because it may not be enlarged. */
function notEnlarged(source: Size, box: RequestedSize, fit: Fit, enlarge: boolean): PassWarning[] {
  if (enlarge) return [];
  const enlarged = fitInto(source, box, fit, true).scaled;
  if (enlarged.width <= source.width && enlarged.height <= source.height) return [];
  const { scaled, result } = fitInto(source, box, fit, false);
  const has = fit === 'contain' ? scaled : result;
  const isNarrow = box.width !== undefined && box.width > has.width;
  return [{ code: 'not_enlarged', name: String(isNarrow ? has.width : has.height) }];
}
