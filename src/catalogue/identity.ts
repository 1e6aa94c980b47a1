import type { OperationName } from '../../workers/image/operations/index.ts';
import type { Step } from '../../workers/protocol.ts';

type Params = Step['params'];

const isTurn = (degrees: unknown) => Number(degrees ?? 0) % 360 === 0;
const each = (params: Params, values: Record<string, number>) =>
  Object.entries(values).every(([name, value]) => (params[name] ?? value) === value);

/** When a registry step leaves every pixel as it was, for those whose arguments alone can tell. */
const IDENTITIES: Partial<Record<OperationName, (params: Params) => boolean>> = {
  rotate: ({ angle }) => isTurn(angle),
  extend: (params) => each(params, { top: 0, right: 0, bottom: 0, left: 0 }),
  border: (params) => each(params, { width: 0, radius: 0 }),
  roundCorners: ({ radius }) => radius === 0 || radius === '0%',
  sharpen: ({ m1, m2 }) => m1 === 0 && m2 === 0,
  median: ({ size }) => size === 1,
  modulate: (params) => isTurn(params.hue) && each(params, { brightness: 1, saturation: 1, lightness: 0 }),
  linear: (params) => each(params, { a: 1, b: 0 }),
  gamma: ({ gamma }) => gamma === 1,
  opacity: ({ opacity }) => opacity === 1,
  text: ({ opacity }) => opacity === 0,
  composite: ({ opacity }) => opacity === 0,
};

/** Whether the step certainly changes nothing; false when that depends on the picture. */
export function changesNothing(step: Step): boolean {
  return IDENTITIES[step.operation as OperationName]?.(step.params) ?? false;
}
