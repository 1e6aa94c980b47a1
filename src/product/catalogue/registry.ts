import { findOperation, OPERATIONS } from '../../../workers/image/operations/index.ts';
import type { OperationStep } from '../../../workers/protocol.ts';
import { mendsAtSentFields, type SentField, sentFieldAt } from '../../platform/http/errors/errors.ts';
import { suggestWord } from '../../platform/http/errors/violations.ts';
import { hintFirst } from '../../platform/ids/nearest.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { findFirstViolation } from './checks/check.ts';
import type { PassFragment } from './op.ts';

/**
 * Checks a step of the form `operation` + `params` against the processing registry, and compiles it.
 * @param at the two fields as they were sent.
 * @throws ApiError invalid_param on `operation` when the registry has no such operation, with all operations in
 *   details.allowed; on `params` for invalid arguments.
 */
export function compileRegistryStep(
  operation: unknown,
  params: unknown = {},
  at: (key: string) => SentField = sentFieldAt,
): PassFragment {
  const entry = typeof operation === 'string' ? findOperation(operation) : undefined;
  if (entry === undefined) {
    const allowed = Object.keys(OPERATIONS);
    const field = at('operation');
    const { hint, mends, suggest } = suggestWord(String(operation), allowed, field.path);
    const message = `The registry has no operation ${JSON.stringify(operation)}: it has ${allowed.join(', ')}.`;
    throw field.refuse(
      hintFirst(hint, message),
      { received: operation, allowed, ...withoutAbsentFields({ suggest }) },
      mends,
    );
  }
  const violation = findFirstViolation(entry.parameters, params, String(operation));
  if (violation !== undefined) {
    const { message, details, mends = [] } = violation;
    throw at('params').refuse(
      message,
      details,
      mendsAtSentFields(mends, (param) => at(`params.${param}`)),
    );
  }
  const checked = params as OperationStep['params'];
  if (entry.kind === 'setting') return { decode: {}, encode: {}, ...entry.settings(checked), steps: [] };
  const refusal = entry.rule(checked);
  if (refusal !== undefined) throw at('params').refuse(refusal.message, refusal.details);
  return { decode: {}, steps: [{ operation: String(operation), params: checked }], encode: {} };
}
