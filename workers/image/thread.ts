import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { ImageResult, ImageTask } from '../protocol.ts';
import { perform } from './perform.ts';

/** Does one task in a thread. The bytes of a result are moved to the receiver, not copied. */
export default async function run(task: ImageTask): Promise<ImageResult> {
  const result = await perform(task);
  if (result.kind !== 'transformed') return result;
  return move({
    get [transferableSymbol]() {
      return [result.data.buffer];
    },
    get [valueSymbol]() {
      return result;
    },
  }) as unknown as ImageResult;
}
