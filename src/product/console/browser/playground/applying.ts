import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition, PresetData, PresetStep } from '../../../../client/schema.ts';
import { type AlternativeCall, applyFix, type FormValues } from '../parts/correcting.ts';
import { formValuesOfRow, rowOfFormValues } from '../saved/row.ts';
import {
  findLoneStep,
  jobRequestOf,
  type PlaygroundWork,
  type WorkStep,
  withStepDefaults,
  workOfJob,
} from './work.ts';

/** The ops and presets of the service. Names in the work refer to them. */
interface KnownOps {
  definitions: ReadonlyMap<string, OpDefinition>;
  presets: readonly PresetData[];
}

/**
 * Applies the changes that an error lists to the work. If a change concerns a step of a preset, the work becomes a copy
 * of the preset's steps; the saved preset stays unchanged.
 */
export function applyFixToWork(
  work: PlaygroundWork,
  fix: readonly Fix[],
  definition: OpDefinition | undefined,
  { presets }: Pick<KnownOps, 'presets'>,
): PlaygroundWork {
  switch (work.kind) {
    case 'preset': {
      const steps = findPresetSteps(work.slug, presets);
      const call = applyFix({ preset: work.slug, steps }, fix);
      return call.steps === steps ? { ...work, slug: call.preset } : workOfSteps(call.steps);
    }
    case 'template': {
      const call = applyFix({ templateId: work.id, data: rowOfFormValues(work.data) }, fix);
      return { ...work, id: call.templateId, data: formValuesOfRow(call.data) };
    }
    case 'op': {
      if (definition?.kind !== 'ai') return { ...work, values: applyFix(work.values, fix) };
      return workOfJob(applyFix(jobRequestOf(work.op, work.values), fix));
    }
    case 'steps': {
      const lone = findLoneStep(work);
      if (lone === undefined) return applyFix(work, fix);
      // A single step is sent with its parameters directly in the query, so the changes name them without a prefix such
      // as `steps[0].parameters`.
      const call = { op: lone.op, ...lone.parameters } as FormValues & { op: string };
      const { op, ...parameters } = applyFix(call, fix);
      return { ...work, steps: [{ op, parameters }] };
    }
  }
}

/**
 * Replaces the work by the alternative that an error lists. If it changes the steps of a preset, the work becomes a
 * changed copy of these steps.
 */
export function applyAlternative(
  work: PlaygroundWork,
  instead: AlternativeCall,
  { definitions, presets }: KnownOps,
): PlaygroundWork {
  if (instead.steps !== undefined) return workOfSteps(instead.steps);
  const own = work.kind === 'preset' ? workOfSteps(findPresetSteps(work.slug, presets)) : work;
  if (own.kind !== 'steps') return work;
  const steps = replaceSteps(own.steps, instead, definitions);
  if (steps !== own.steps) return { ...own, steps };
  const outputs = replaceSteps(own.outputs, instead, definitions);
  return outputs === own.outputs ? work : { ...own, outputs };
}

/**
 * Applies the alternative that an error lists: it replaces all steps, or sets parameters of the first step that has all
 * of them. If no step has them, the same list is returned.
 */
export function replaceSteps<Step extends PresetStep>(
  steps: readonly Step[],
  { steps: others, parameters = {} }: AlternativeCall,
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

function findPresetSteps(slug: string, presets: readonly PresetData[]): readonly PresetStep[] {
  return presets.find((preset) => preset.slug === slug)?.steps ?? [];
}

function workOfSteps(steps: readonly Partial<WorkStep>[]): PlaygroundWork {
  return { kind: 'steps', steps: steps.map(withStepDefaults), outputs: [] };
}
