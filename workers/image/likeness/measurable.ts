import type { Size } from '../../formats/size.ts';
import { invalidParamRefusal, type PassRefusal } from '../refusal.ts';
import { MIN_SCORED_EDGE_PX } from './ssimulacra2.ts';

/** The most pixels of a picture that is scored. For a larger one, a search by SSIMULACRA 2 would not end in time. */
const MAX_SCORED_PX = 4_000_000;

/** @throws PassRefusal invalid_param on `ssimulacra2` for a picture that is too small or too large to be measured. */
export function assertScoreMeasurable(picture: Size & { frames: number }): void {
  const refusal = scoreRefusalFor(picture, 'ask for minSsim');
  if (refusal !== undefined) throw refusal;
}

/**
 * The refusal to score a picture that is too small or too large; undefined if the picture can be scored.
 * @param instead what the caller may do instead.
 */
export function scoreRefusalFor(
  { width, height, frames }: Size & { frames: number },
  instead: string,
): PassRefusal | undefined {
  if (Math.min(width, height) < MIN_SCORED_EDGE_PX) {
    const message = `ssimulacra2 needs pictures of at least ${MIN_SCORED_EDGE_PX} pixels along each edge, but this one is ${width} × ${height}: ${instead}.`;
    return invalidParamRefusal('ssimulacra2', message, { limit: MIN_SCORED_EDGE_PX });
  }
  if (width * height * frames > MAX_SCORED_PX) {
    const megapixels = (one: number) => (one / 1e6).toFixed(1);
    const message = `ssimulacra2 is measured up to ${megapixels(MAX_SCORED_PX)} megapixels, but this picture has ${megapixels(width * height * frames)}: make it smaller first, or ${instead}.`;
    return invalidParamRefusal('ssimulacra2', message, { limit: MAX_SCORED_PX });
  }
  return undefined;
}
