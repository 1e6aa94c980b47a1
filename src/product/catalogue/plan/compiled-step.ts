import type { AiOp, Fragment, Given } from '../op.ts';

/** A deterministic step of a list, checked and compiled. */
export interface DeterministicStep {
  kind: 'deterministic';
  /** The index in the list as sent, from 0. */
  index: number;
  fragment: Fragment;
}

/** A step that runs a model. It divides the list into segments. */
export interface AiStep {
  kind: 'ai';
  index: number;
  op: AiOp['op'];
  /** The id of the model: the named one, else the op's default. */
  model: string;
  /** As sent: subjects are not yet expanded. */
  prompt?: string;
  parameters: Given;
  /** JSON Schema of the answer; absent where an image is made. */
  schema?: Given;
}

export type CompiledStep = DeterministicStep | AiStep;

/** Adjacent deterministic steps form one process pass; each AI step is its own segment. */
export function segmentsOf<S extends Pick<CompiledStep, 'kind'>>(steps: readonly S[]): S[][] {
  const segments: S[][] = [];
  for (const step of steps) {
    const open = segments.at(-1);
    if (step.kind === 'deterministic' && open?.[0]?.kind === 'deterministic') open.push(step);
    else segments.push([step]);
  }
  return segments;
}
