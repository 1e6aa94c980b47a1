import type { AiOp, Fragment, Given } from '../op.ts';

/** A deterministic step of a list, checked and compiled. */
export interface DeterministicStep {
  kind: 'deterministic';
  /** Place in the list as sent, from 0. */
  index: number;
  fragment: Fragment;
}

/** A step that runs a model: it cuts the list, and has no pixels to reason about. */
export interface AiStep {
  kind: 'ai';
  index: number;
  op: AiOp['op'];
  /** Id of the model: the one that was named, else the op's default. */
  model: string;
  /** As sent: subjects are not yet expanded. */
  prompt?: string;
  parameters: Given;
  /** JSON Schema of the answer; absent where an image is made. */
  schema?: Given;
}

export type CompiledStep = DeterministicStep | AiStep;
