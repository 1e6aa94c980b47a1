import { distinct } from '../../../platform/values/distinct.ts';
import type { CheckedVariant } from '../../catalogue/plan/job.ts';
import type { Taken } from '../../catalogue/plan/plan.ts';
import type { PresetStep, Subject } from '../../catalogue/plan/step.ts';
import { isSandboxModel } from '../../models/models.ts';

/** The work of a job, as of its submit: later changes of presets, models and prices do not affect it. */
export interface Definition {
  takes: Taken;
  produces: 'image' | 'json';
  /** As submitted: what a resume submits again. */
  steps?: PresetStep[];
  /** As submitted; the rows of a render are in its items. */
  parameters?: Record<string, unknown>;
  /** As the model receives it. */
  prompt?: string;
  count: number;
  variants: DefinedVariant[];
  subjects: Subject[];
  references: string[];
  /** The template of a render at its version. */
  template?: { id: string; version: number };
}

/** A variant with what its segments cost, in credits. */
export interface DefinedVariant extends CheckedVariant {
  credits: number[];
}

/** Runs of one item against the processing allowance: one for each pass, or for the page of a render. */
export function runsOf({ segments }: Pick<CheckedVariant, 'segments'>): number {
  if (segments.length === 0) return 1;
  return segments.filter(({ runs }) => runs === 'pass').length;
}

/** The models of the sandbox that segments run on, each once. */
export function sandboxModelsOf(variants: ReadonlyArray<Pick<CheckedVariant, 'segments'>>): string[] {
  const models = variants.flatMap(({ segments }) =>
    segments.flatMap((segment) => (segment.runs === 'model' ? segment.model : [])),
  );
  return distinct(models.filter(isSandboxModel));
}

/** Credits of one item for models. */
export function creditsOf({ credits }: Pick<DefinedVariant, 'credits'>): number {
  return credits.reduce((sum, price) => sum + price, 0);
}
