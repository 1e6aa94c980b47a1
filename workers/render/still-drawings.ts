/*
 * A page does not reach the documents of its SVG images, so a style that is written into their text ends the motion
 * that CSS makes in them. It shows them by the rule of stillness.ts: without duration, an animation that ends is at its
 * end, and one that repeats for ever has no effect.
 */

const STILL_STYLE =
  '<style>*{animation-duration:0s!important;animation-delay:0s!important;transition:none!important}</style>';

const STILL_STYLE_IN_URL = encodeURIComponent(STILL_STYLE);

const MOTION = /animation|transition/i;
const END_TAG = '</svg';

/** The start of a `data:` URL of an SVG image, up to its comma. The bounded length keeps the search linear. */
const URL_START = /data:image\/svg\+xml[^,"'()<>\s]{0,100},/gi;
const BASE64 = /[A-Za-z0-9+/=%]*/y;
/** The end tag as a URL in HTML may spell it. */
const END_TAG_IN_URL = /(?:<|%3c|&lt;)(?:\/|%2f)svg/gi;

/** The bytes of an image that a page loads. SVG images lose their animation. */
export function withoutAnimation({
  data,
  contentType,
}: {
  data: Uint8Array;
  contentType: string;
}): Uint8Array {
  return contentType === 'image/svg+xml' ? stillDrawing(data) : data;
}

function stillDrawing(svg: Uint8Array): Uint8Array {
  const text = Buffer.from(svg).toString();
  return MOTION.test(text) ? Buffer.from(text.replace(END_TAG, STILL_STYLE + END_TAG)) : svg;
}

/** A document whose SVG images in `data:` URLs have no animation. */
export function withoutDrawingAnimation(html: string): string {
  let still = '';
  let copiedTo = 0;
  for (const { index, 0: start } of html.matchAll(URL_START)) {
    if (index < copiedTo) continue;
    const from = index + start.length;
    const drawing = /;base64,$/i.test(start) ? stillBase64At(html, from) : stillTextAt(html, from);
    // Without an end tag here, later URLs have none either.
    if (drawing === null) break;
    still += html.slice(copiedTo, from) + drawing.still;
    copiedTo = drawing.to;
  }
  return still + html.slice(copiedTo);
}

/** A part of a document that ends at `to`, and the text that replaces it. */
interface Replacement {
  to: number;
  still: string;
}

function stillBase64At(html: string, from: number): Replacement {
  BASE64.lastIndex = from;
  const [base64 = ''] = BASE64.exec(html) ?? [];
  const svg = Buffer.from(base64.replaceAll(/%2b/gi, '+').replaceAll(/%2f/gi, '/'), 'base64');
  const drawing = stillDrawing(svg);
  const still = drawing === svg ? base64 : Buffer.from(drawing).toString('base64');
  return { to: from + base64.length, still };
}

/** The replacement of an SVG image within a URL; null if the image has no end tag. */
function stillTextAt(html: string, from: number): Replacement | null {
  END_TAG_IN_URL.lastIndex = from;
  const endTag = END_TAG_IN_URL.exec(html);
  if (endTag === null) return null;
  const text = html.slice(from, endTag.index);
  return { to: endTag.index, still: MOTION.test(text) ? text + STILL_STYLE_IN_URL : text };
}
