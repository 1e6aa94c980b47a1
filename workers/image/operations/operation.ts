import type { TSchema } from '@sinclair/typebox';
import type { Sharp } from 'sharp';

/** What an operation may know of the picture it is applied to. */
export interface Picture {
  width: number;
  height: number;
  hasAlpha: boolean;
}

/**
 * One operation of the processing registry: one file, one value. sharp is imported here as a type only, so that an
 * API process reads names and schemas without loading libvips.
 */
export interface Operation {
  description: string;
  /** TypeBox schema of the arguments, an object without additional properties; every property has a description. */
  parameters: TSchema;
}
export type { Sharp };
