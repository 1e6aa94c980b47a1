import type { Stage } from '../load/suite.ts';
import type { Candidate } from './candidates.ts';
import type { Weights } from './goodness.ts';

/** Stages that load what only these settings change: a full queue, and pictures that need much memory. */
const LOADED_BY: Readonly<Record<string, string>> = { IMAGE_QUEUE: 'queue', IMAGE_MEMORY_MEGABYTES: 'big' };

/**
 * The stages of a trial of a candidate against a base: those of cases that have a weight, without those that load
 * settings in which neither differs from the default.
 */
export function stagesFor(
  stages: readonly Stage[],
  { candidate, base, weights }: { candidate: Candidate; base: Candidate; weights: Weights },
): Stage[] {
  const special = Object.values(LOADED_BY);
  const loaded = Object.keys({ ...candidate, ...base }).map((name) => LOADED_BY[name]);
  return stages.filter(({ isWarmUp, name, ...stage }) => {
    if (isWarmUp) return true;
    const cases = Object.keys(stage.loop === 'closed' ? stage.connections : stage.perSecond);
    if (!cases.some((one) => (weights[one] ?? 0) > 0)) return false;
    return !special.includes(name) || loaded.includes(name);
  });
}
