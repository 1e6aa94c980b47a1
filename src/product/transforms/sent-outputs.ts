import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { createCheck } from '../../platform/http/errors/validation.ts';
import type { RequestedStep } from '../catalogue/plan/sent-step.ts';
import { type RequestedOutput, RequestedOutputs } from './transform-schema.ts';

/** Several results of one image, as sent: the steps that run first for all of them, and the work of each. */
export interface RequestedOutputsWork {
  first: readonly RequestedStep[];
  outputs: readonly RequestedOutput[];
}

/** @throws ApiError (from the check) invalid_param on outputs, or `outputs[i]…`. */
const checkShape = createCheck(Type.Object({ outputs: RequestedOutputs }), 'outputs');

/** Each of these is the work of an output. */
const WORKS = ['op', 'steps', 'preset'] as const;

/**
 * Checks outputs as they were sent, but not their work.
 * @throws ApiError invalid_param on outputs, or `outputs[i]…`.
 */
export function checkSentOutputs(sent: unknown): RequestedOutput[] {
  const { outputs } = checkShape({ outputs: sent });
  const names = new Set<string>();
  for (const [index, output] of outputs.entries()) {
    const where = `outputs[${index}]`;
    checkWork(output, where);
    if (names.has(output.name)) {
      const message = `${where}.name is ${output.name}, as that of an earlier output: give each a name of its own.`;
      throw invalidParamError(`${where}.name`, message, { received: output.name });
    }
    names.add(output.name);
  }
  return outputs;
}

/** Checks that an output has an op, steps or a preset, and parameters only with an op. */
function checkWork(output: RequestedOutput, where: string): void {
  const [first, second] = WORKS.filter((name) => output[name] !== undefined);
  if (first === undefined) {
    const message = `${where} has no work: send op with its parameters, steps, or preset.`;
    throw invalidParamError(where, message, { missing: [...WORKS] });
  }
  if (second !== undefined) {
    const message = `${where} has both ${first} and ${second}: send one of them.`;
    throw invalidParamError(`${where}.${second}`, message);
  }
  if (output.parameters !== undefined && first !== 'op') {
    const message = `${where}.parameters must be left out beside ${first}: they are for op.`;
    throw invalidParamError(`${where}.parameters`, message);
  }
}
