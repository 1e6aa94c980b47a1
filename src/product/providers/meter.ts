import { Counter, Histogram, register } from 'prom-client';
import type { ProviderName } from '../models/models.ts';

/**
 * Counts and times the attempts of model calls, by provider and outcome (the label `verdict`). No label identifies a
 * caller.
 */
export type ProviderMeter = (provider: ProviderName, outcome: string, elapsedMs: number) => void;

const DURATION_METRIC = 'darkroom_provider_call_seconds';
const CALLS = 'darkroom_provider_calls_total';
/** What an alert names, and what it compares with. */
const ALERTED_VERDICTS = ['answered', 'provider_unavailable', 'service_misconfigured'];
const BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 120];

/**
 * Declares the metrics at the start; a process has one meter for its models.
 * @param offered the names of the providers with models that are offered.
 */
export function createProviderMeter(offered: readonly string[]): ProviderMeter {
  for (const name of [DURATION_METRIC, CALLS]) register.removeSingleMetric(name);
  const durations = new Histogram({
    name: DURATION_METRIC,
    help: 'Time of one try of a model call.',
    labelNames: ['provider'],
    buckets: BUCKETS_SECONDS,
  });
  const calls = new Counter({
    name: CALLS,
    help: 'Tries of model calls, by how they ended: answered, or the code of the failure.',
    labelNames: ['provider', 'verdict'],
  });
  // Starting at zero lets an alert see the first failure as an increase.
  for (const provider of offered) for (const verdict of ALERTED_VERDICTS) calls.inc({ provider, verdict }, 0);
  return (provider, outcome, elapsedMs) => {
    durations.observe({ provider }, elapsedMs / 1_000);
    calls.inc({ provider, verdict: outcome });
  };
}
