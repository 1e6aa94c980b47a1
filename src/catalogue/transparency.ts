import type { OperationName } from '../../workers/image/operations/index.ts';
import type { Step } from '../../workers/protocol.ts';
import { isTranslucent } from './colour.ts';
import { changesNothing } from './identity.ts';

type Params = Step['params'];

/** What a registry step makes of transparency, for those that touch it; the others leave it as it is. */
const EFFECTS: Partial<Record<OperationName, (params: Params) => boolean | undefined>> = {
  flatten: () => false,
  removeAlpha: () => false,
  extractChannel: () => false,
  joinChannel: () => true,
  roundCorners: () => true,
  border: ({ radius, width, color }) =>
    Number(radius ?? 0) > 0 || (Number(width ?? 0) > 0 && isTranslucent(color)) ? true : undefined,
  opacity: () => true,
  unflatten: () => true,
  ensureAlpha: ({ alpha }) => (Number(alpha ?? 1) < 1 ? true : undefined),
  rotate: ({ angle, background }) =>
    Number(angle ?? 0) % 90 !== 0 && opensUp(background) ? true : undefined,
  affine: ({ background }) => (isTranslucent(background) ? true : undefined),
  extend: ({ background, extendWith = 'background' }) =>
    extendWith === 'background' && opensUp(background) ? true : undefined,
  resize: ({ fit, background }) => (fit === 'contain' && isTranslucent(background) ? true : undefined),
};

/** Whether room of that colour shows what lies under it: without a colour it is transparent. */
function opensUp(background: unknown): boolean {
  return background === undefined || isTranslucent(background);
}

/** Whether the picture certainly is transparent after the step, certainly is not, or as it was before (undefined). */
export function transparencyAfter(step: Step): boolean | undefined {
  return changesNothing(step) ? undefined : EFFECTS[step.operation as OperationName]?.(step.params);
}
