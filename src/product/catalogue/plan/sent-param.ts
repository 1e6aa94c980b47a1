import type { SentField } from '../../../platform/http/errors/sent-field.ts';
import type { DeterministicStep } from './plan.ts';

/** Counts the steps of the pass from 0, as a refusal of the worker does. */
const STEP_OF_PASS = /^steps\[(\d+)\]/;

/**
 * The parameter of the call behind a parameter of its pass, which a refusal of the worker names: of the step that the
 * refusal counts, else of the last step that sent it, which overrides the earlier ones, else of the whole work.
 */
export function sentParamOf(steps: readonly DeterministicStep[], passParam: string, whole = 'steps'): string {
  const counted = STEP_OF_PASS.exec(passParam)?.[1];
  const name = passParam.split('.').at(-1) ?? passParam;
  const sender =
    counted === undefined
      ? steps.findLast(({ parameters }) => name in parameters)
      : steps.flatMap((step) => step.fragment.steps.map(() => step))[Number(counted)];
  const step = sender ?? onlyOp(steps);
  return step === undefined ? whole : fieldBehind(step, name).param;
}

/** The step of a list of one op, whose parameter it is although it was not sent. */
function onlyOp([step, ...others]: readonly DeterministicStep[]): DeterministicStep | undefined {
  return others.length === 0 && step?.op !== undefined ? step : undefined;
}

/** The field after an argument of a step, preferably one that was sent. */
function fieldBehind({ op, parameters, at }: DeterministicStep, argument: string): SentField {
  if (op === undefined) return at(`params.${argument}`);
  const names = [argument, ...(op.renamed[argument] ?? [])];
  const name =
    names.find((known) => known in parameters) ?? names.find((known) => known in op.parameters.properties);
  return at(name === undefined ? 'op' : `parameters.${name}`);
}
