import { type Block, type PageSample, samples } from '../../platform/pages/page.ts';
import { type SampleCall, samplesOf } from './call.ts';

/**
 * The same call in every language, as tabs.
 * @param more further forms of the call.
 */
export function callSamples(call: SampleCall, ...more: readonly PageSample[]): Block {
  return samples(...samplesOf(call), ...more);
}
