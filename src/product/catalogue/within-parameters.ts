import type { Within } from '../../platform/http/errors/violations.ts';
import { nearest } from '../../platform/ids/nearest.ts';
import { findOp, OP_NAMES } from './index.ts';

/** Fields beside an op that its parameters take. */
export const IN_PARAMETERS: Within = {
  field: 'parameters',
  names({ op: sent }) {
    const name = String(sent);
    const op = findOp(name) ?? findOp(nearest(name, OP_NAMES) ?? '');
    return Object.keys(op?.parameters.properties ?? {});
  },
};
