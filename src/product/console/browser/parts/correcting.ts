import type { Fix } from '../../../../client/errors.ts';
import {
  applyCorrection,
  type CallCorrection,
  type CorrectableCall,
} from '../../../../platform/http/errors/corrections.ts';

/** What a form holds, by the names of its fields; one without a value is left out. */
export type FormValues = Readonly<Record<string, unknown>>;

/** What does the same as a call that was refused: other parameters beside its own, other steps, or a job. */
export interface OtherCall {
  parameters?: Readonly<Record<string, unknown>>;
  steps?: readonly object[];
  job?: object;
}

/**
 * A call with every change that an error lists, as the service would make them. The call stays unchanged if a change
 * does not apply.
 */
export function corrected<T extends object>(call: T, fix: readonly Fix[]): T {
  let sent: CorrectableCall | null = { query: {}, body: call, isForm: false };
  for (const correction of fix) sent = sent && applyCorrection(sent, correction as CallCorrection);
  return (sent?.body ?? call) as T;
}
