import type { Fragment } from './op.ts';

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
  /** Which op, where what it makes of a picture is to be known. */
  op?: string;
}

export type CompiledStep = DeterministicStep | AiStep;
