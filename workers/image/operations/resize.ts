import type { Size } from '../../formats/size.ts';
import type { PassWarning } from '../../protocol.ts';
import { backgroundOrFill, isTranslucentColour } from '../colour/colour.ts';
import {
  changedSizeLimitError,
  type FitMode,
  fitIntoBox,
  MAX_EDGE_PX,
  placeBox,
} from '../pixels/geometry.ts';
import { BadArgumentError } from '../refusal.ts';
import { cropAnchorOf, padPicture, scaleAndCrop, scaleInLinearLight, scaleToSize } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';

export const resize = defineStepOperation({
  description:
    'Scales the picture to a width, a height or both, keeping its shape unless fit says otherwise.',
  parameters: {
    width: parameter.optional(
      parameter.integer(1, MAX_EDGE_PX, 'Width in pixels; width, height or both are needed.'),
    ),
    height: parameter.optional(
      parameter.integer(1, MAX_EDGE_PX, 'Height in pixels; width, height or both are needed.'),
    ),
    fit: parameter.choice(
      ['cover', 'contain', 'fill', 'inside', 'outside'],
      'How the picture meets width and height: cover crops, contain pads, fill stretches, inside stays within, outside reaches both.',
      { default: 'inside' },
    ),
    gravity: parameter.optional(
      parameter.gravity('With fit cover or contain, the part that is kept or the place in the padding.'),
    ),
    ...parameter.FOCAL_POINT,
    kernel: parameter.optional(
      parameter.choice(
        ['nearest', 'linear', 'cubic', 'mitchell', 'lanczos2', 'lanczos3'],
        'How pixels are weighed; nearest keeps hard edges, lanczos3 is the default.',
      ),
    ),
    enlarge: parameter.flag('Whether a picture smaller than asked for is scaled up.', { default: false }),
    linear: parameter.optional(
      parameter.flag(
        'Whether the picture is made smaller in linear light, which keeps the brightness of fine patterns and takes longer.',
      ),
    ),
    background: parameter.optional(parameter.colour('Colour of the padding with contain.')),
  },
  grey: 'keeps',
  copies: ({ enlarge, kernel, linear }) => (enlarge || linear || kernel === 'nearest' ? 2 : 0),
  sizeAfter: 'given',
  alphaAfter({ fit, background }) {
    if (fit !== 'contain') return 'kept';
    return isTranslucentColour(background) ? true : undefined;
  },
  cpuMsPerMegapixel: ({ enlarge }) => (enlarge ? 60 : 25),
  commutesWithFlatten: true,
  findInvalidArgument({ width, height }) {
    if (width !== undefined || height !== undefined) return undefined;
    return new BadArgumentError('width', 'width and height are both missing: send at least one.', {
      missing: ['width', 'height'],
    });
  },
  findFitError: (picture, { width, height, fit, enlarge }) =>
    changedSizeLimitError(picture, fitIntoBox(picture, { width, height }, fit, enlarge).result),
  warningsAbout: (input, { width, height, fit, enlarge }) =>
    notEnlargedWarnings(input, { width, height }, fit, enlarge),
  size: (input, { width, height, fit, enlarge }) => fitIntoBox(input, { width, height }, fit, enlarge).result,
  scalesTo: (input, { width, height, fit, kernel, enlarge, linear }) =>
    linear || kernel === 'nearest' ? undefined : fitIntoBox(input, { width, height }, fit, enlarge).scaled,
  async apply(
    picture,
    { width, height, fit, kernel = 'lanczos3', enlarge, linear, background, ...aim },
    pass,
  ) {
    const fitting = fitIntoBox(picture, { width, height }, fit, enlarge);
    // The linear resize comes first, because the steps after it (crop, enlarge) do not average pixels.
    if (linear) await scaleInLinearLight(picture, fitting.scaled, kernel);
    if (fit === 'cover') return scaleAndCrop(picture, fitting, cropAnchorOf(aim), kernel);
    await scaleToSize(picture, fitting.scaled, kernel);
    if (fit !== 'contain') return;
    const anchor = cropAnchorOf(aim);
    const { left, top } = placeBox(
      fitting.scaled,
      fitting.result,
      typeof anchor === 'string' && anchor !== 'attention' && anchor !== 'entropy' ? anchor : 'center',
    );
    const right = fitting.result.width - fitting.scaled.width - left;
    const bottom = fitting.result.height - fitting.scaled.height - top;
    await padPicture(picture, { left, top, right, bottom }, backgroundOrFill(pass.fill, background));
  },
});

type RequestedSize = { width: number | undefined; height: number | undefined };

/** A warning if the picture stays smaller than the requested size, because it may not be enlarged. */
function notEnlargedWarnings(
  source: Size,
  box: RequestedSize,
  fit: FitMode,
  enlarge: boolean,
): PassWarning[] {
  if (enlarge) return [];
  const enlarged = fitIntoBox(source, box, fit, true).scaled;
  if (enlarged.width <= source.width && enlarged.height <= source.height) return [];
  const { scaled, result } = fitIntoBox(source, box, fit, false);
  const actual = fit === 'contain' ? scaled : result;
  const isNarrow = box.width !== undefined && box.width > actual.width;
  return [{ code: 'not_enlarged', name: String(isNarrow ? actual.width : actual.height) }];
}
