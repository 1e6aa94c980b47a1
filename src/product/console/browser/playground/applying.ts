import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition, PresetData, PresetStep } from '../../../../client/schema.ts';
import { applyFix, type FormValues, type OtherCall } from '../parts/correcting.ts';
import { rowOf, valuesOf } from '../saved/row.ts';
import {
  findLoneStep,
  jobRequestOf,
  type PlaygroundWork,
  type WorkStep,
  withStepDefaults,
  workOfJob,
} from './work.ts';

/** The ops and presets of the service, by which the names in the work are resolved. */
interface KnownOps {
  definitions: ReadonlyMap<string, OpDefinition>;
  presets: readonly PresetData[];
}

/**
 * The work with the changes that an error of its call lists. A change within a preset replaces the preset by its steps;
 * the saved preset stays unchanged.
 */
export function applyFixToWork(
  work: PlaygroundWork,
  fix: readonly Fix[],
  definition: OpDefinition | undefined,
  { presets }: Pick<KnownOps, 'presets'>,
): PlaygroundWork {
  switch (work.kind) {
    case 'preset': {
      const steps = stepsOf(work.slug, presets);
      const call = applyFix({ preset: work.slug, steps }, fix);
      return call.steps === steps ? { ...work, slug: call.preset } : workOfSteps(call.steps);
    }
    case 'template': {
      const call = applyFix({ templateId: work.id, data: rowOf(work.data) }, fix);
      return { ...work, id: call.templateId, data: valuesOf(call.data) };
    }
    case 'op': {
      if (definition?.kind !== 'ai') return { ...work, values: applyFix(work.values, fix) };
      return workOfJob(applyFix(jobRequestOf(work.op, work.values), fix));
    }
    case 'steps': {
      const lone = findLoneStep(work);
      if (lone === undefined) return applyFix(work, fix);
      // A single step was sent with its parameters beside its name, so the changes name them without a prefix.
      const call = { op: lone.op, ...lone.parameters } as FormValues & { op: string };
      const { op, ...parameters } = applyFix(call, fix);
      return { ...work, steps: [{ op, parameters }] };
    }
  }
}

/**
 * The work, replaced by the alternative that an error lists. If the alternative changes the steps of a preset, these
 * steps replace the preset.
 */
export function applyAlternative(
  work: PlaygroundWork,
  instead: OtherCall,
  { definitions, presets }: KnownOps,
): PlaygroundWork {
  if (instead.steps !== undefined) return workOfSteps(instead.steps);
  const own = work.kind === 'preset' ? workOfSteps(stepsOf(work.slug, presets)) : work;
  if (own.kind !== 'steps') return work;
  const steps = replaceSteps(own.steps, instead, definitions);
  if (steps !== own.steps) return { ...own, steps };
  const outputs = replaceSteps(own.outputs, instead, definitions);
  return outputs === own.outputs ? work : { ...own, outputs };
}

/**
 * Steps, replaced by the alternative that an error lists: other steps, or parameters for the first step that has them.
 * Returns the same list if no step has them.
 */
export function replaceSteps<Step extends PresetStep>(
  steps: readonly Step[],
  { steps: others, parameters = {} }: OtherCall,
  definitions: ReadonlyMap<string, OpDefinition>,
): readonly Step[] {
  if (others !== undefined) return others as readonly Step[];
  const takes = ({ op = '' }: Step) =>
    Object.keys(parameters).every((name) => name in (definitions.get(op)?.params ?? {}));
  const at = steps.findIndex(takes);
  const step = steps[at];
  if (step === undefined) return steps;
  return steps.with(at, { ...step, parameters: { ...step.parameters, ...parameters } });
}

function stepsOf(slug: string, presets: readonly PresetData[]): readonly PresetStep[] {
  return presets.find((preset) => preset.slug === slug)?.steps ?? [];
}

function workOfSteps(steps: readonly Partial<WorkStep>[]): PlaygroundWork {
  return { kind: 'steps', steps: steps.map(withStepDefaults), outputs: [] };
}
