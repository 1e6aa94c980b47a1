import type { CDPSession } from 'playwright';
import { joinPageTexts, READ_TEXT_EXPRESSION } from './page-text.ts';
import type { PageText } from './protocol.ts';

/*
 * A picture has no time: equal documents give equal pictures. An animation or a transition that ends is shown at its
 * end, and one that repeats for ever as if it had not begun. Animated images show their first picture, and the
 * animation elements of SVG do nothing.
 */

/**
 * Browser flags that stop animated images and SVG animation elements, in images as well (2 is ImageAnimationPolicy
 * "none").
 */
export const NO_ANIMATION_FLAGS = ['--blink-settings=imageAnimationPolicy=2'] as const;

/**
 * The number of rounds after which a page is captured in its present state. The end of one animation may start another,
 * such as a transition, and a page can keep that up for ever.
 */
const MAX_ROUNDS = 20;

/**
 * Settles a loaded document before its capture, and returns the number of its frames and its text. Scripts of the
 * document itself never run. The load event waits for images but not for fonts, which are requested when text is first
 * laid out. The page is scrolled to its top, because a focused element or the previous drawing may have scrolled it. A
 * marquee moves by animations that are not listed, so it is replaced by one that does not start. Animations that are
 * paused, or that follow the scrolling, do not depend on time.
 */
const SETTLE = `(async () => {
  scrollTo({ top: 0, left: 0, behavior: 'instant' });
  await document.fonts.ready;
  for (const marquee of document.querySelectorAll('marquee')) {
    const still = marquee.cloneNode(true);
    marquee.replaceWith(still);
    still.stop();
  }
  const moves = ({ playState, timeline }) => playState === 'running' && timeline === document.timeline;
  for (let round = 0; round < ${MAX_ROUNDS}; round += 1) {
    const motions = document.getAnimations().filter(moves);
    if (motions.length === 0) break;
    for (const motion of motions) {
      if (motion.effect.getComputedTiming().endTime === Infinity) motion.cancel();
      else motion.finish();
    }
  }
  return { frames: frames.length, text: ${READ_TEXT_EXPRESSION} };
})()`;

/** Waits for the fonts of a loaded page, ends all animation in it and in its frames, and reads their text. */
export async function settlePage(session: CDPSession): Promise<PageText> {
  const evaluation = { expression: SETTLE, awaitPromise: true, returnByValue: true };
  const { result } = await session.send('Runtime.evaluate', evaluation);
  const { frames, text } = result.value as { frames: number; text: PageText };
  if (frames === 0) return text;
  const texts = [text];
  const { frameTree } = await session.send('Page.getFrameTree');
  for (const frameId of framesBelow(frameTree)) {
    const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId });
    const { result: settled } = await session.send('Runtime.evaluate', { ...evaluation, contextId });
    texts.push((settled.value as { text: PageText }).text);
  }
  return joinPageTexts(texts);
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

function framesBelow({ childFrames = [] }: FrameTree): string[] {
  return childFrames.flatMap((child) => [child.frame.id, ...framesBelow(child)]);
}
