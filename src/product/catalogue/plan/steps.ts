import { invalidParam } from '../../../platform/http/errors.ts';
import { chosenModel } from '../../models/choice.ts';
import type { Models } from '../../models/models.ts';
import { checkParameters } from '../checks/check.ts';
import { findOp, OPS } from '../index.ts';
import { mergeFragments } from '../merge.ts';
import { type AiOp, isPixelOp, type Op, type PixelOp } from '../op.ts';
import { checkRegistryStep } from '../registry.ts';
import { checkAiStep, placeOfStep, type SentSchema, schemasOf } from './ai-step.ts';
import { besideParameters } from './beside-parameters.ts';
import type { AiStep, CompiledStep, DeterministicStep } from './compiled-step.ts';
import { segmentsOf } from './segments.ts';
import type { PresetStep } from './step.ts';

/** Ops that a step can be, in the catalogue's order. */
const STEP_OPS = Object.values<Op>(OPS).filter(isStepOp);

/**
 * Checks a list of steps completely, so that it can run, and compiles the deterministic ones.
 * @param where the prefix of the invalid step's index, as in `steps[1].op`.
 * @throws ApiError invalid_param on the step, or the field or parameter of it, that is at fault.
 */
export function compileSteps(steps: readonly PresetStep[], models: Models, where = 'steps'): CompiledStep[] {
  const compiled = steps.map((step, index) => compileStep(step, index, models, `${where}[${index}]`));
  refuseMisplaced(steps, compiled, where);
  refuseConflicts(steps, compiled, where);
  return compiled;
}

/** The schemas that were sent for the answers of steps. */
export function schemasOfSteps(compiled: readonly CompiledStep[], where: string): SentSchema[] {
  return compiled.flatMap((step) =>
    step.kind === 'ai' ? schemasOf(step.parameters, `${where}[${step.index}].parameters.schema`) : [],
  );
}

function compileStep(step: PresetStep, index: number, models: Models, at: string): CompiledStep {
  if ((step.op === undefined) === (step.operation === undefined)) {
    const said = step.op === undefined ? 'neither op nor operation' : 'both op and operation';
    throw invalidParam(at, `${at} has ${said}: a step is one or the other.`);
  }
  if (step.op === undefined) {
    refuseFields(step, ['model', 'prompt', 'parameters'], at, 'a step with operation takes params alone');
    return {
      kind: 'deterministic',
      index,
      fragment: checkRegistryStep(step.operation, step.params, `${at}.`),
    };
  }
  const op = stepOp(step.op, at);
  refuseFields(step, ['params'], at, 'a step with op takes parameters');
  if (op.runs === 'model') return aiStep(step, op, index, models, at);
  refuseFields(step, ['model', 'prompt'], at, `${op.op} is deterministic and runs no model`);
  const parameters = checkParameters(op, step.parameters, `${at}.parameters.`);
  return { kind: 'deterministic', index, fragment: op.compile(parameters) };
}

function aiStep(step: PresetStep, op: AiOp, index: number, models: Models, at: string): AiStep {
  const model = chosenModel(models, step.model, op.modelCategory, `${at}.model`);
  const sent = besideParameters(op, step, `${at}.parameters.`);
  return { kind: 'ai', index, ...checkAiStep(op, model, sent, placeOfStep(at)) };
}

function stepOp(name: string, at: string): PixelOp | AiOp {
  const op = findOp(name);
  if (op !== undefined && isStepOp(op)) return op;
  const allowed = STEP_OPS.map((candidate) => candidate.op);
  const problem = op === undefined ? `There is no op "${name}"` : `${name} cannot be a step`;
  throw invalidParam(`${at}.op`, `${problem}: use one of ${allowed.join(', ')}.`, {
    received: name,
    allowed,
  });
}

function isStepOp(op: Op): op is PixelOp | AiOp {
  return op.runs === 'model' || isPixelOp(op);
}

function refuseFields(
  step: PresetStep,
  fields: readonly (keyof PresetStep)[],
  at: string,
  because: string,
): void {
  const sent = fields.find((field) => step[field] !== undefined);
  if (sent !== undefined) throw invalidParam(`${at}.${sent}`, `${at}.${sent} must be left out: ${because}.`);
}

/** Refuses errors between steps: a JSON answer before the end, and a step in a chain that gets no image. */
function refuseMisplaced(
  steps: readonly PresetStep[],
  compiled: readonly CompiledStep[],
  where: string,
): void {
  const isChain = segmentsOf(compiled).length > 1;
  for (const [index, step] of steps.entries()) {
    const op = findOp(step.op ?? '');
    if (op === undefined) continue;
    if (op.produces === 'json' && index < steps.length - 1) {
      throw invalidParam(
        `${where}[${index}].op`,
        `${op.op} answers JSON, which no step can go on from: make it the last.`,
      );
    }
    if (!op.requiresAssets && isChain) {
      throw invalidParam(
        `${where}[${index}].op`,
        `${op.op} makes its picture from words alone, so it can only be a job of its own: run it, then send its resultAssetId in assetIds of a second job.`,
      );
    }
  }
}

/** Refuses steps of one pass with conflicting settings. */
function refuseConflicts(
  steps: readonly PresetStep[],
  compiled: readonly CompiledStep[],
  where: string,
): void {
  for (const segment of segmentsOf(compiled)) {
    const pass = segment.filter((step): step is DeterministicStep => step.kind === 'deterministic');
    const { conflict } = mergeFragments(pass.map(({ fragment }) => fragment));
    if (conflict === undefined) continue;
    const index = pass[conflict.index]?.index ?? 0;
    const field = steps[index]?.op === undefined ? 'params' : `parameters.${conflict.key}`;
    throw invalidParam(`${where}[${index}].${field}`, conflict.message);
  }
}
