import { type PageBlock, type PageSample, samplesBlock } from '../../platform/pages/page.ts';
import { type SampleCall, samplesOfCall } from './call.ts';

/**
 * The same call in every language, as tabs.
 * @param more further forms of the call.
 */
export function callSamplesBlock(call: SampleCall, ...more: readonly PageSample[]): PageBlock {
  return samplesBlock(...samplesOfCall(call), ...more);
}
