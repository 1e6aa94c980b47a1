import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition } from '../../../../client/schema.ts';
import type { FormValues } from '../parts/form.ts';
import { mended } from '../parts/mending.ts';
import type { OtherCall } from '../parts/states.ts';
import { jobRequestOf } from './job-request.ts';
import { loneStep, type PlaygroundWork, type WorkStep, workOfJob } from './work.ts';

/** The work with the changes that a refusal of its call lists. */
export function fixed(
  work: PlaygroundWork,
  fix: readonly Fix[],
  definition: OpDefinition | undefined,
): PlaygroundWork {
  switch (work.kind) {
    case 'preset':
    case 'template':
      return work;
    case 'op': {
      if (definition?.kind !== 'ai') return { ...work, values: mended(work.values, fix) };
      return workOfJob(mended(jobRequestOf(work.op, work.values), fix));
    }
    case 'steps': {
      const lone = loneStep(work);
      if (lone === undefined) return mended(work, fix);
      // One step is sent with its parameters beside its name.
      const { op, ...parameters } = mended(
        { op: lone.op, ...lone.parameters } as FormValues & { op: string },
        fix,
      );
      return { ...work, steps: [{ op, parameters }] };
    }
  }
}

/** The work with what a refusal names in its place: other steps, or parameters for the first step that has them. */
export function replaced(
  work: PlaygroundWork,
  { steps, parameters = {} }: OtherCall,
  definitions: ReadonlyMap<string, OpDefinition>,
): PlaygroundWork {
  if (steps !== undefined) {
    const whole = (steps as readonly WorkStep[]).map((step) => ({
      ...step,
      parameters: step.parameters ?? {},
    }));
    return { kind: 'steps', steps: whole, outputs: [] };
  }
  if (work.kind !== 'steps') return work;
  const takes = ({ op }: WorkStep) =>
    Object.keys(parameters).every((name) => name in (definitions.get(op)?.params ?? {}));
  const at = work.steps.findIndex(takes);
  const step = work.steps[at];
  if (step === undefined) return work;
  return {
    ...work,
    steps: work.steps.with(at, { ...step, parameters: { ...step.parameters, ...parameters } }),
  };
}
