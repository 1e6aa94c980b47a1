import { createHash } from 'node:crypto';
import { seededRandom } from '../../workers/models/random.ts';

/** A generator for one case in one stage and round: independent of all others, and the same in every run. */
export function seededBy(caseName: string, stageName: string, round: number): () => number {
  const digest = createHash('sha256')
    .update(JSON.stringify([caseName, stageName, round]))
    .digest();
  return seededRandom(digest.readUInt32BE(0));
}
