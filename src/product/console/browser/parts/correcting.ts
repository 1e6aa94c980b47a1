import type { Fix } from '../../../../client/errors.ts';
import {
  applyCorrection,
  type CallCorrection,
  type CorrectableCall,
} from '../../../../platform/http/errors/corrections.ts';

/** The values of a form by the names of its fields. A field without a value is left out. */
export type FormValues = Readonly<Record<string, unknown>>;

/** An alternative to a call that was refused: other parameters, other steps, or a job. */
export interface AlternativeCall {
  parameters?: Readonly<Record<string, unknown>>;
  steps?: readonly object[];
  job?: object;
}

/**
 * Applies all changes that an error lists to a call, in the same way as the service. The call stays unchanged if a
 * change cannot be applied.
 */
export function applyFix<T extends object>(call: T, fix: readonly Fix[]): T {
  let sent: CorrectableCall | null = { query: {}, body: call, isForm: false };
  for (const correction of fix) sent = sent && applyCorrection(sent, correction as CallCorrection);
  return (sent?.body ?? call) as T;
}
