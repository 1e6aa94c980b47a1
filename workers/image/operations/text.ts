import type { Size } from '../../formats/size.ts';
import { parseColour, TRANSPARENT } from '../colour/colour.ts';
import { escapeMarkup, withoutControlCharacters } from '../markup.ts';
import { overlayPicture } from '../overlay.ts';
import {
  type GravityName,
  MAX_AREA_PX,
  marginPx,
  placeBoxWithMargin,
  sizeWithinMargin,
} from '../pixels/geometry.ts';
import { type Pixels, type Rgba, readPixels } from '../pixels/pixels.ts';
import { turnPixels } from '../pixels/turn.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, type PassContext } from './operation.ts';
import * as parameter from './parameter.ts';

const MAX_LETTER_HEIGHT_PX = 1000;

export const text = defineStepOperation({
  description: 'Writes a line or more onto the picture, as text and never as markup.',
  parameters: {
    text: parameter.text(1, 500, 'What to write; line breaks are kept.'),
    font: parameter.optional(
      parameter.text(1, 100, 'Family name of the font; a sans-serif one when left out.'),
    ),
    size: parameter.pixelsOrShare(
      [1, MAX_LETTER_HEIGHT_PX],
      ['^(100|[1-9][0-9]?(\\.[0-9]+)?|0\\.[0-9]*[1-9])%$', '4%'],
      'Height of the letters in pixels or as a share of the width, at most 1000 pixels.',
      { default: 32 },
    ),
    color: parameter.colour('Colour of the letters.', { default: '#ffffff' }),
    position: parameter.position('Position of the text; its lines are aligned with it.', {
      default: 'southeast',
    }),
    margin: parameter.margin('Distance from the edges, in pixels or as a share of the shorter side.', {
      default: 16,
    }),
    opacity: parameter.number(0, 1, 'How solid the letters are.', { default: 1 }),
    rotate: parameter.number(-360, 360, 'Degrees clockwise that the text is turned.', { default: 0 }),
  },
  grey: ({ text }) => (hasEmoji(text) ? 'colours' : 'keeps'),
  copies: 1,
  alphaAfter: 'kept',
  changesNothing: ({ opacity }) => opacity === 0,
  cpuMsPerMegapixel: 20,
  findFitError(picture, { text, size: requestedSize, margin }) {
    const size = letterHeightPx(requestedSize, picture.width);
    return tooManyLinesError(withoutUndrawableCharacters(text), size, lineBreakWidth(size, picture, margin));
  },
  async apply(
    picture,
    { text, font = 'sans', size: requestedSize, color, position, margin, opacity, rotate },
    pass,
  ) {
    const written = withoutUndrawableCharacters(text);
    if (written.trim() === '') return;
    const size = letterHeightPx(requestedSize, picture.width);
    const colour = parseColour(color, 'color');
    const lines = { width: lineBreakWidth(size, picture, margin), align: alignmentAt(position) };
    const layout = { ...lines, font: `${withoutUndrawableCharacters(font)} ${size}` };
    const ink = { ...colour, alpha: colour.alpha * opacity };
    const flat = hasEmoji(written)
      ? await drawColouredLetters(written, layout, ink, pass)
      : colouredPixelsOfMask(await drawLetterMask(written, layout, pass), ink);
    const label = rotate % 360 === 0 ? flat : await turnPixels(flat, rotate, TRANSPARENT, pass.sharp);
    const drawn = await overlayPicture(picture, label, placeBoxWithMargin(label, picture, position, margin));
    if (drawn !== 'all')
      pass.sideResults.warnings.push({ code: 'text_cut', name: `${label.width}x${label.height}` });
  },
});

/** The height of the letters in whole pixels, from a number of pixels or a share of the width. */
function letterHeightPx(requestedSize: number | string, widthPx: number): number {
  if (typeof requestedSize === 'number') return requestedSize;
  const share = Number.parseFloat(requestedSize) / 100;
  return Math.min(MAX_LETTER_HEIGHT_PX, Math.max(1, Math.round(share * widthPx)));
}

/** The text without the characters that Pango cannot draw. */
function withoutUndrawableCharacters(text: string): string {
  return withoutControlCharacters(text.replace(/\r\n?/g, '\n'));
}

type TextAlignment = 'left' | 'centre' | 'right';

/** The alignment of several lines follows the position: right in the east, left in the west, otherwise centred. */
function alignmentAt(position: GravityName): TextAlignment {
  if (position.endsWith('east')) return 'right';
  return position.endsWith('west') ? 'left' : 'centre';
}

/** The width in pixels at which lines break. */
function lineBreakWidth(sizePx: number, picture: Size, margin: number | string): number {
  return Math.max(sizeWithinMargin(picture, marginPx(margin, picture)).width, sizePx);
}

/** The error for a text that needs more space than any picture has, wherever its lines break. */
function tooManyLinesError(text: string, sizePx: number, width: number): BadArgumentError | undefined {
  if (text.trim() === '') return undefined;
  const linesOf = (line: string) => Math.ceil((line.length * sizePx * 2) / width) + 1;
  const linesAtMost = text.split('\n').reduce((lines, line) => lines + linesOf(line), 0);
  if (linesAtMost * sizePx * 2 * width <= MAX_AREA_PX) return undefined;
  const message = `size is ${sizePx}, at which the text does not fit any picture: send a smaller size or less text.`;
  return new BadArgumentError('size', message);
}

interface TextLayout {
  font: string;
  width: number;
  align: TextAlignment;
}

/** Draws the letters as a mask of one channel; 255 is ink. */
async function drawLetterMask(text: string, layout: TextLayout, { sharp }: PassContext): Promise<Pixels> {
  const letters = sharp({ text: { text: markupOf(text), ...layout, dpi: 72, wrap: 'word-char' } });
  return readPixels(letters.toColourspace('b-w'));
}

/** Draws letters in a colour, and emoji in their own colours. A mask would show emoji as flat shapes. */
async function drawColouredLetters(
  text: string,
  layout: TextLayout,
  { alpha, ...colour }: Rgba,
  { sharp }: PassContext,
): Promise<Pixels> {
  const hex = [colour.r, colour.g, colour.b].map((part) => part.toString(16).padStart(2, '0')).join('');
  const markup = `<span foreground="#${hex}">${markupOf(text)}</span>`;
  const letters = sharp({ text: { text: markup, ...layout, dpi: 72, wrap: 'word-char', rgba: true } });
  const drawn = await readPixels(letters.toColourspace('srgb'));
  for (let at = 3; at < drawn.data.length; at += 4)
    drawn.data[at] = Math.round((drawn.data[at] as number) * alpha);
  return drawn;
}

/** Builds the markup of a text. A word that is broken gets no hyphen that the caller did not send. */
function markupOf(text: string): string {
  return `<span insert_hyphens="false">${escapeMarkup(isolateRightToLeft(text))}</span>`;
}

/** Whether a font may draw a part of the text in its own colours. */
function hasEmoji(text: string): boolean {
  return /\p{Emoji_Presentation}|\uFE0F/u.test(text);
}

/** Matches text whose first letter is of a script that is written from right to left. */
const RIGHT_TO_LEFT_START =
  /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/**
 * Pango swaps left and right in a paragraph that begins with a right-to-left letter. Such a line is isolated (RLI to
 * PDI) in a left-to-right paragraph (LRM), so that it is aligned as requested.
 */
function isolateRightToLeft(text: string): string {
  return text
    .split('\n')
    .map((line) => (RIGHT_TO_LEFT_START.test(line) ? `\u200e\u2067${line}\u2069` : line))
    .join('\n');
}

function colouredPixelsOfMask({ data: mask, width, height }: Pixels, { r, g, b, alpha }: Rgba): Pixels {
  const data = new Uint8Array(mask.length * 4);
  for (let index = 0, at = 0; index < mask.length; index++, at += 4) {
    data[at] = r;
    data[at + 1] = g;
    data[at + 2] = b;
    data[at + 3] = Math.round((mask[index] as number) * alpha);
  }
  return { data, width, height, channels: 4, frames: 1 };
}
