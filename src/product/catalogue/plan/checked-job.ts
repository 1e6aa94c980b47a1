import type { StepWarning } from '../checks/warnings.ts';
import type { Given, JobType, Op } from '../op.ts';
import type { SentSchema } from './ai-step.ts';
import type { NamedAsset } from './named-assets.ts';
import type { Segment, Taken } from './plan.ts';
import type { PresetStep, Subject } from './step.ts';

/**
 * What a job body says of the work; its other fields are of no concern here. The schema of the route has seen the
 * types.
 */
export interface JobWork {
  op?: string | undefined;
  type?: string | undefined;
  steps?: readonly PresetStep[] | undefined;
  subjects?: readonly unknown[] | undefined;
  presetId?: string | undefined;
  model?: string | undefined;
  prompt?: string | undefined;
  parameters?: Given | undefined;
  count?: number | undefined;
  variants?: readonly Variant[] | undefined;
  templateId?: string | undefined;
  items?: readonly unknown[] | undefined;
  assetIds?: readonly unknown[] | undefined;
}

export interface Variant {
  name?: string | undefined;
  parameters?: Given | undefined;
}

/** A job whose every item is known to run, before anything is stored, held or charged. */
export interface CheckedJob {
  type: JobType | 'chain';
  /** Only where the job was submitted as an op. */
  op?: Op['op'];
  takes: Taken;
  /** Items for each variant where none is made of an asset; 1 but for generate. */
  count: number;
  /** One at least. */
  variants: CheckedVariant[];
  subjects: Subject[];
  /** Assets that every call of generate and edit is shown, in order. */
  references: string[];
  /** Assets beside the items' own. A store finds out whether they exist. */
  named: NamedAsset[];
  /** Schemas that were sent for answers, which are still to be compiled. */
  schemas: SentSchema[];
  warnings: StepWarning[];
  produces: 'image' | 'json';
}

export interface CheckedVariant {
  /** The variant's name, or its index as text; absent where no variants were sent. */
  name?: string;
  /** The variant's parameters, merged over the job's. */
  parameters: Given;
  /** A render has none. */
  segments: Segment[];
}
