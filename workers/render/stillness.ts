import type { CDPSession } from 'playwright';
import { READ_PAGE_TEXT, SHAPE_DECLARED_FONTS } from './page-fonts.ts';
import type { PageTextFacts } from './protocol.ts';

/*
 * The picture of a page does not depend on time: equal documents give equal pictures. An animation or a transition that
 * ends is shown at its end. An animation that repeats for ever is shown as if it had not begun. Animated images show
 * their first picture, and the animation elements of SVG do nothing.
 */

/**
 * The browser flags that stop animated images and SVG animation elements, also inside images (2 is ImageAnimationPolicy
 * "none").
 */
export const NO_ANIMATION_FLAGS = ['--blink-settings=imageAnimationPolicy=2'] as const;

/**
 * The number of rounds after which a page is captured in its present state. The end of one animation may start another,
 * such as a transition, and a page can repeat that for ever.
 */
const MAX_SETTLING_ROUNDS = 20;

/**
 * JavaScript that settles a loaded document before its capture, and returns the number of its frames and its text.
 * Scripts of the document itself never run. The load event waits for images but not for fonts, which are requested when
 * text is first laid out. The page is scrolled to its top, because a focused element or the previous drawing may have
 * scrolled it. A marquee moves by animations that are not listed, so it is replaced by one that does not start.
 * Animations that are paused, or that follow the scrolling, do not depend on time.
 */
const SETTLE_DOCUMENT = `(async () => {
  scrollTo({ top: 0, left: 0, behavior: 'instant' });
  await document.fonts.ready;
  ${SHAPE_DECLARED_FONTS}
  for (const marquee of document.querySelectorAll('marquee')) {
    const still = marquee.cloneNode(true);
    marquee.replaceWith(still);
    still.stop();
  }
  const moves = ({ playState, timeline }) => playState === 'running' && timeline === document.timeline;
  for (let round = 0; round < ${MAX_SETTLING_ROUNDS}; round += 1) {
    const motions = document.getAnimations().filter(moves);
    if (motions.length === 0) break;
    for (const motion of motions) {
      if (motion.effect.getComputedTiming().endTime === Infinity) motion.cancel();
      else motion.finish();
    }
  }
  return { frames: frames.length, text: ${READ_PAGE_TEXT} };
})()`;

/** Waits for the fonts of a loaded page, ends all animation in it and in its frames, and reads their text. */
export async function settlePage(session: CDPSession): Promise<PageTextFacts> {
  const evaluation = { expression: SETTLE_DOCUMENT, awaitPromise: true, returnByValue: true };
  const { result } = await session.send('Runtime.evaluate', evaluation);
  const { frames, text } = result.value as { frames: number; text: PageTextFacts };
  if (frames === 0) return text;
  const texts = [text];
  const { frameTree } = await session.send('Page.getFrameTree');
  for (const frameId of frameIdsBelow(frameTree)) {
    const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId });
    const { result: settled } = await session.send('Runtime.evaluate', { ...evaluation, contextId });
    texts.push((settled.value as { text: PageTextFacts }).text);
  }
  return joinPageTexts(texts);
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

function frameIdsBelow({ childFrames = [] }: FrameTree): string[] {
  return childFrames.flatMap((child) => [child.frame.id, ...frameIdsBelow(child)]);
}

/** Joins the texts of the documents of a page: those of the page itself and of the frames within it. */
function joinPageTexts(texts: readonly PageTextFacts[]): PageTextFacts {
  return {
    characters: texts.map(({ characters }) => characters).join(''),
    families: [...new Set(texts.flatMap(({ families }) => families))],
    cut: texts.flatMap(({ cut }) => cut),
  };
}

/*
 * Chromium cannot run scripts in the SVG images of a page. Therefore a style that ends CSS animation is written into
 * the text of each image. With a duration of zero, an animation that ends is at its end, and one that repeats for ever
 * has no effect.
 */

const FREEZING_STYLE =
  '<style>*{animation-duration:0s!important;animation-delay:0s!important;transition:none!important}</style>';

const FREEZING_STYLE_IN_URL = encodeURIComponent(FREEZING_STYLE);

const CSS_ANIMATION = /animation|transition/i;
const SVG_END_TAG = '</svg';

/** The start of a `data:` URL of an SVG image, up to its comma. The bounded length keeps the search linear. */
const SVG_URL_START = /data:image\/svg\+xml[^,"'()<>\s]{0,100},/gi;
const BASE64_TEXT = /[A-Za-z0-9+/=%]*/y;
/** Matches the end tag of an SVG image, in every spelling that a URL in HTML may use. */
const SVG_END_TAG_IN_URL = /(?:<|%3c|&lt;)(?:\/|%2f)svg/gi;

/** The bytes of an image that a page loads. The animation of an SVG image is stopped. */
export function withoutAnimation(picture: { data: Uint8Array; contentType: string }): Uint8Array {
  const { data, contentType } = picture;
  return contentType === 'image/svg+xml' ? freezeSvg(data) : data;
}

function freezeSvg(svg: Uint8Array): Uint8Array {
  const text = Buffer.from(svg).toString();
  return CSS_ANIMATION.test(text)
    ? Buffer.from(text.replace(SVG_END_TAG, FREEZING_STYLE + SVG_END_TAG))
    : svg;
}

/** A document in which the SVG images in `data:` URLs have no animation. */
export function withoutDrawingAnimation(html: string): string {
  let frozen = '';
  let copiedTo = 0;
  for (const { index, 0: start } of html.matchAll(SVG_URL_START)) {
    if (index < copiedTo) continue;
    const from = index + start.length;
    const drawing = /;base64,$/i.test(start)
      ? freezeSvgInBase64DataUrl(html, from)
      : freezeSvgInTextDataUrl(html, from);
    // The result is null if no end tag follows this URL. Then none follows a later URL either.
    if (drawing === null) break;
    frozen += html.slice(copiedTo, from) + drawing.text;
    copiedTo = drawing.to;
  }
  return frozen + html.slice(copiedTo);
}

/** The text that replaces an SVG image in a document. The image ends before the index `to`. */
interface FrozenSvgText {
  to: number;
  text: string;
}

function freezeSvgInBase64DataUrl(html: string, from: number): FrozenSvgText {
  BASE64_TEXT.lastIndex = from;
  const [base64 = ''] = BASE64_TEXT.exec(html) ?? [];
  const svg = Buffer.from(base64.replaceAll(/%2b/gi, '+').replaceAll(/%2f/gi, '/'), 'base64');
  const drawing = freezeSvg(svg);
  const text = drawing === svg ? base64 : Buffer.from(drawing).toString('base64');
  return { to: from + base64.length, text };
}

/** Stops the animation of an SVG image that is text in a URL; null if the image has no end tag. */
function freezeSvgInTextDataUrl(html: string, from: number): FrozenSvgText | null {
  SVG_END_TAG_IN_URL.lastIndex = from;
  const endTag = SVG_END_TAG_IN_URL.exec(html);
  if (endTag === null) return null;
  const text = html.slice(from, endTag.index);
  return { to: endTag.index, text: CSS_ANIMATION.test(text) ? text + FREEZING_STYLE_IN_URL : text };
}
