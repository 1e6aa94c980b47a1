import { Counter, Histogram, register } from 'prom-client';
import type { ProviderName } from '../models/models.ts';

/**
 * Counts and times the attempts of model calls, by provider and outcome (the label `verdict`). No label identifies a
 * caller.
 */
export type ProviderMeter = (provider: ProviderName, verdict: string, elapsedMs: number) => void;

const DURATIONS = 'darkroom_provider_call_seconds';
const VERDICTS = 'darkroom_provider_calls_total';
const BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 120];

/** Declares the metrics at the start; a process has one meter for its models. */
export function createProviderMeter(): ProviderMeter {
  for (const name of [DURATIONS, VERDICTS]) register.removeSingleMetric(name);
  const durations = new Histogram({
    name: DURATIONS,
    help: 'Time of one try of a model call.',
    labelNames: ['provider'],
    buckets: BUCKETS_SECONDS,
  });
  const verdicts = new Counter({
    name: VERDICTS,
    help: 'Tries of model calls, by how they ended: answered, or the code of the failure.',
    labelNames: ['provider', 'verdict'],
  });
  return (provider, verdict, elapsedMs) => {
    durations.observe({ provider }, elapsedMs / 1_000);
    verdicts.inc({ provider, verdict });
  };
}
