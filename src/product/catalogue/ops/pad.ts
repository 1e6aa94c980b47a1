import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { integerParameter, optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

const MAX_MARGIN_PX = 8192;
const SIDES = ['top', 'right', 'bottom', 'left'] as const;

export const padOp = definePixelOp({
  op: 'pad',
  description: 'Adds room around the picture, filled with a colour or with what lies at its edges.',
  parameters: {
    top: optionalParameter(integerParameter(0, MAX_MARGIN_PX, 'Pixels to add above.')),
    right: optionalParameter(integerParameter(0, MAX_MARGIN_PX, 'Pixels to add on the right.')),
    bottom: optionalParameter(integerParameter(0, MAX_MARGIN_PX, 'Pixels to add below.')),
    left: optionalParameter(integerParameter(0, MAX_MARGIN_PX, 'Pixels to add on the left.')),
    all: optionalParameter(
      integerParameter(0, MAX_MARGIN_PX, 'Pixels to add on every side; instead of naming sides.'),
    ),
    mode: OPERATIONS.extend.declared.extendWith,
  },
  example: { all: 24, background: '#ffffff' },
  rule(given) {
    const side = SIDES.find((name) => given[name] !== undefined);
    if (given.all !== undefined && side !== undefined) {
      const message = `${side} and all exclude each other: send sides or all.`;
      return { key: side, message, details: { suggest: ['all', side] } };
    }
    if (given.all === undefined && side === undefined) {
      return {
        key: 'all',
        message: 'No side is named: send all, or at least one of top, right, bottom and left.',
        details: { missing: ['all', ...SIDES], suggest: ['all', ...SIDES] },
      };
    }
    return undefined;
  },
  renamed: { top: ['all'], right: ['all'], bottom: ['all'], left: ['all'], extendWith: ['mode'] },
  compile({ top, right, bottom, left, all = 0, mode, background }) {
    const sides = { top: top ?? all, right: right ?? all, bottom: bottom ?? all, left: left ?? all };
    return { steps: [operationStep('extend', { ...sides, extendWith: mode, background })] };
  },
});
