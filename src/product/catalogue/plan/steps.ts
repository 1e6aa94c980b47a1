import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { chosenModel } from '../../models/choice.ts';
import type { Models } from '../../models/models.ts';
import { checkParameters } from '../checks/check.ts';
import { findOp, OPS } from '../index.ts';
import { mergeFragments } from '../merge.ts';
import { type AiOp, isPixelOp, type Op, type PixelOp } from '../op.ts';
import { checkRegistryStep } from '../registry.ts';
import { checkAiStep, type SentSchema, schemasOf } from './ai-step.ts';
import { type CompiledStep, segmentsOf } from './compiled-step.ts';
import { refuseFields, withLiftedFields } from './fields.ts';
import { assetsOf, type NamedAsset } from './named-assets.ts';
import type { PresetStep, Subject } from './step.ts';
import { checkSubjectsAreUsed, readSubjects } from './subjects.ts';

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

/** A list of steps with its subjects, valid except for the rules that need a store or a thread. */
export interface ReadSteps {
  compiled: CompiledStep[];
  subjects: Subject[];
  /** The assets that it names, whose existence is still to be checked. */
  named: NamedAsset[];
  /** Schemas that were sent for answers, which are still to be compiled. */
  schemas: SentSchema[];
}

/**
 * Checks steps and their subjects, except for the existence of their assets.
 * @param where the prefix of the field names: '', or `versions[2].` for an earlier version of a preset.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export function readSteps(
  steps: readonly PresetStep[],
  sentSubjects: readonly unknown[],
  models: Models,
  where = '',
): ReadSteps {
  const compiled = compileSteps(steps, models, `${where}steps`);
  const subjects = readSubjects(sentSubjects, `${where}subjects`);
  checkSubjectsAreUsed(compiled, subjects, models, where);
  const schemas = compiled.flatMap((step) =>
    step.kind === 'ai' ? schemasOf(step.parameters, `${where}steps[${step.index}].parameters.schema`) : [],
  );
  return { compiled, subjects, named: assetsOf(steps, compiled, subjects, where), schemas };
}

function compileStep(step: PresetStep, index: number, models: Models, at: string): CompiledStep {
  const location = { index, at: `${at}.`, parameters: () => `${at}.parameters.` };
  if ((step.op === undefined) === (step.operation === undefined)) {
    const found = step.op === undefined ? 'neither op nor operation' : 'both op and operation';
    throw invalidParam(at, `${at} has ${found}: a step is one or the other.`);
  }
  if (step.op === undefined) {
    refuseFields(
      step,
      ['model', 'prompt', 'parameters'],
      'a step with operation takes params alone',
      location,
    );
    const fragment = checkRegistryStep(step.operation, step.params, `${at}.`);
    return { kind: 'deterministic', index, fragment };
  }
  const op = stepOp(step.op, at);
  refuseFields(step, ['params'], 'a step with op takes parameters', location);
  if (op.runs === 'model') {
    const model = chosenModel(models, step.model, op.op, `${at}.model`);
    return checkAiStep(op, model, withLiftedFields(op, step, location.parameters()), location);
  }
  refuseFields(step, ['model', 'prompt'], `${op.op} is deterministic and runs no model`, location);
  const parameters = checkParameters(op, step.parameters, location.parameters);
  return { kind: 'deterministic', index, fragment: op.compile(parameters) };
}

function stepOp(name: string, at: string): PixelOp | AiOp {
  const op = findOp(name);
  if (op !== undefined && isStepOp(op)) return op;
  const stepOps = Object.values<Op>(OPS).filter(isStepOp);
  const allowed = stepOps.map((candidate) => candidate.op);
  const problem = op === undefined ? `There is no op "${name}"` : `${name} cannot be a step`;
  throw invalidParam(`${at}.op`, `${problem}: use one of ${allowed.join(', ')}.`, {
    received: name,
    allowed,
  });
}

function isStepOp(op: Op): op is PixelOp | AiOp {
  return op.runs === 'model' || isPixelOp(op);
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
    const param = `${where}[${index}].op`;
    if (op.produces === 'json' && index < steps.length - 1) {
      const message = `${op.op} answers JSON, which no further step can use: make it the last.`;
      throw invalidParam(param, message);
    }
    if (!op.requiresAssets && isChain) {
      const message = `${op.op} makes its picture from a prompt alone, so it can only be a job of its own: run it, then send its resultAssetId in assetIds of a second job.`;
      throw invalidParam(param, message);
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
    const pass = segment.filter((step) => step.kind === 'deterministic');
    const { conflict } = mergeFragments(pass.map(({ fragment }) => fragment));
    if (conflict === undefined) continue;
    const index = pass[conflict.index]?.index ?? 0;
    const field = steps[index]?.op === undefined ? 'params' : `parameters.${conflict.key}`;
    throw invalidParam(`${where}[${index}].${field}`, conflict.message);
  }
}
