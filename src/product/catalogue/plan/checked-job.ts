import type { StepWarning } from '../checks/warnings.ts';
import type { Given, JobType, Op } from '../op.ts';
import type { SentSchema } from './ai-step.ts';
import type { NamedAsset } from './named-assets.ts';
import type { Segment, Taken } from './plan.ts';
import type { PresetStep, Subject } from './step.ts';

/** The fields of a job body that describe the work. The schema of the route has checked their types. */
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

/** The checked work of a job. */
export interface CheckedWork {
  type: JobType | 'chain';
  /** Present only when the job was submitted as an op. */
  op?: Op['op'];
  takes: Taken;
  /** At least one. */
  variants: CheckedVariant[];
  subjects: Subject[];
  /** Further assets besides those of the items. Their existence is checked later. */
  named: NamedAsset[];
  /** Schemas that were sent for answers, which are still to be compiled. */
  schemas: SentSchema[];
  warnings: StepWarning[];
  produces: 'image' | 'json';
}

/** A completely checked job, before anything is stored, held or charged. */
export interface CheckedJob extends CheckedWork {
  /** The number of items per variant of a job without assets; 1 except for generate. */
  count: number;
  /** Assets that are sent with every call of generate and edit, in order. */
  references: string[];
}

export interface CheckedVariant {
  /** The variant's name, or its index as text; absent where no variants were sent. */
  name?: string;
  /** The variant's parameters, merged over the job's. */
  parameters: Given;
  /** A render has none. */
  segments: Segment[];
}
