import type { Fix } from '../../../../client/errors.ts';
import { applyMend, type CallMend, type MendableCall } from '../../../../platform/http/errors/mends.ts';

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
export function mended<T extends object>(call: T, fix: readonly Fix[]): T {
  let sent: MendableCall | null = { query: {}, body: call, isForm: false };
  for (const mend of fix) sent = sent && applyMend(sent, mend as CallMend);
  return (sent?.body ?? call) as T;
}
