import type { Size } from '../../formats/size.ts';
import { backgroundOrFill, leavesTransparency } from '../colour/colour.ts';
import { changedSizeLimitError } from '../pixels/geometry.ts';
import { padPicture } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import { choiceParameter, colourParameter, integerParameter, optionalParameter } from './parameter.ts';

const MAX_ADDED_PX = 16384;

type Room = Record<'top' | 'right' | 'bottom' | 'left', number>;

export const extendOperation = defineStepOperation({
  description: 'Adds room around the picture, filled with a colour or with what lies at its edges.',
  parameters: {
    top: integerParameter(0, MAX_ADDED_PX, 'Pixels to add above.', { default: 0 }),
    right: integerParameter(0, MAX_ADDED_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: integerParameter(0, MAX_ADDED_PX, 'Pixels to add below.', { default: 0 }),
    left: integerParameter(0, MAX_ADDED_PX, 'Pixels to add on the left.', { default: 0 }),
    extendWith: choiceParameter(
      ['background', 'copy', 'repeat', 'mirror'],
      'What fills the room: the background colour, the edge pixels, the picture again, or its mirror image.',
      { default: 'background' },
    ),
    background: optionalParameter(colourParameter('Colour of the room.')),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ background, extendWith }) =>
    extendWith === 'background' && leavesTransparency(background) ? true : undefined,
  changesNothing: ({ top, right, bottom, left }) => top + right + bottom + left === 0,
  cpuMsPerMegapixel: 8,
  fits: (picture, room) => changedSizeLimitError(picture, extendedSize(picture, room)),
  size: extendedSize,
  async apply(picture, { extendWith, background, ...room }, { fill }) {
    await padPicture(picture, room, backgroundOrFill(fill, background), extendWith);
  },
});

function extendedSize(input: Size, { top, right, bottom, left }: Room): Size {
  return { width: input.width + left + right, height: input.height + top + bottom };
}
