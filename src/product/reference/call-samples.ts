import { type Block, type Sample, samples } from '../../platform/pages/page.ts';
import { type Call, samplesOf } from './call.ts';

/**
 * The same call in every language, as tabs.
 * @param more further forms of it.
 */
export function callSamples(call: Call, ...more: readonly Sample[]): Block {
  return samples(...samplesOf(call), ...more);
}
