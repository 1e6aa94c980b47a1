import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { numberParameter } from '../../../../workers/image/operations/parameter.ts';
import { MAX_EDGE_PX } from '../../../../workers/image/pixels/geometry.ts';
import type { ParameterViolation } from '../op.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

const { background: _, ...OWN } = OPERATIONS.resize.declared;

export const resizeOp = definePixelOp({
  op: 'resize',
  description: OPERATIONS.resize.description,
  parameters: {
    ...OWN,
    dpr: numberParameter(1, 5, 'Screen pixels per pixel asked for: multiplies width and height.', {
      default: 1,
    }),
  },
  example: { width: 800, height: 600, fit: 'cover', gravity: 'attention', format: 'webp' },
  rule(given): ParameterViolation | undefined {
    const refused = OPERATIONS.resize.rule(given);
    if (refused !== undefined) return refused;
    const largest = Math.max(given.width ?? 0, given.height ?? 0) * (given.dpr ?? 1);
    if (largest > MAX_EDGE_PX) {
      return {
        key: 'dpr',
        message: `dpr makes an edge of ${Math.round(largest)} pixels, but at most ${MAX_EDGE_PX} are allowed: send a smaller dpr or size.`,
        details: { received: given.dpr, limit: MAX_EDGE_PX },
      };
    }
    return focalPointViolation(given);
  },
  compile({ width, height, dpr, fit, gravity, focalX, focalY, kernel, enlarge, linear, background }) {
    const scaled = (edge: number | undefined) => edge && Math.round(edge * dpr);
    const params = { fit, gravity, focalX, focalY, kernel, enlarge, linear, background };
    return { steps: [operationStep('resize', { width: scaled(width), height: scaled(height), ...params })] };
  },
});

/**
 * The violation of sending both a focal point and a gravity. Both determine what a crop keeps, so only one may be sent.
 */
export function focalPointViolation(given: {
  gravity?: string | undefined;
  focalX?: number | undefined;
  focalY?: number | undefined;
}): ParameterViolation | undefined {
  if (given.gravity === undefined || (given.focalX === undefined && given.focalY === undefined))
    return undefined;
  return {
    key: 'gravity',
    message: 'gravity and a focal point exclude each other: send gravity, or focalX and focalY.',
    details: { suggest: ['gravity', 'focalX', 'focalY'] },
  };
}
