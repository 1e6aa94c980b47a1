import type { Pass } from '../../../../workers/protocol.ts';
import { type StepWarning, warningsOf } from '../checks/warnings.ts';
import { layersOf } from '../registry.ts';
import type { CompiledStep, DeterministicStep } from './compiled-step.ts';
import { checkPass } from './plan.ts';

/** Steps that run as one pass on one image, while their caller waits. */
export interface OnePass {
  pass: Pass;
  warnings: StepWarning[];
  steps: readonly DeterministicStep[];
  obstacle?: never;
}

/** The first step that runs in jobs only. `does` completes the sentence "has a step that …". */
export interface Obstacle {
  obstacle: { index: number; does: string };
}

/** The single pass of checked steps, or the step that cannot run in one. */
export function onePassOf(compiled: readonly CompiledStep[]): OnePass | Obstacle {
  const steps: DeterministicStep[] = [];
  for (const step of compiled) {
    if (step.kind === 'ai') return { obstacle: { index: step.index, does: 'runs a model' } };
    const { compareWith, steps: operations } = step.fragment;
    if (compareWith !== undefined || layersOf(operations).length > 0)
      return { obstacle: { index: step.index, does: 'reads a second asset' } };
    steps.push(step);
  }
  return { pass: checkPass(steps).pass, warnings: warningsOf(steps), steps };
}
