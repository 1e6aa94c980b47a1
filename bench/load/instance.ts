import { meanRate } from './loops.ts';
import type { LoadSuite } from './suite.ts';

/** Facts that an instance reports before it is loaded. */
export interface InstanceFacts {
  /** The version of Darkroom; null if another kind of server answers. */
  version: string | null;
  /** The number of accounts to which the keys belong. */
  accounts: number;
  /** Limits of one account; null if the instance reports none. */
  limits: InstanceLimits | null;
}

interface InstanceLimits {
  requestsPerMinute: number;
  syncConcurrency: number;
}

const TIMEOUT_MS = 10_000;
/** No closed stage is answered faster than this, so a higher limit is not mentioned. */
const MAX_REQUESTS_PER_SECOND = 2_000;

/**
 * Asks an instance for its version and for the limits of the keys.
 * @throws Error with a sentence when nothing answers at the URL, or when a Darkroom does not accept a key.
 */
export async function inspectInstance(url: string, keys: readonly string[]): Promise<InstanceFacts> {
  const version = await readVersion(url);
  if (version === null) return { version, accounts: keys.length, limits: null };
  const accounts = new Map<string, InstanceLimits>();
  for (const [index, key] of keys.entries()) {
    const answer = await request(`${url}/api/v1/account`, { authorization: `ApiKey ${key}` });
    if (!answer.ok)
      throw new Error(
        `${url} does not accept key ${index + 1} of ${keys.length}: it answered ${answer.status}.`,
      );
    const { data } = (await answer.json()) as { data: { id: string; limits: InstanceLimits } };
    accounts.set(data.id, data.limits);
  }
  const [limits = null] = accounts.values();
  return { version, accounts: accounts.size, limits };
}

/** Sentences for a person before the run: the instance, and each stage that its limits do not allow. */
export function remarksOn({ version, accounts, limits }: InstanceFacts, suite: LoadSuite): string[] {
  if (version === null)
    return ['The URL does not answer as a Darkroom: its version and its limits are unknown.'];
  const first = `Darkroom ${version}, ${accounts === 1 ? 'one account' : `${accounts} accounts`}.`;
  return limits === null ? [first] : [first, ...excessRemarks(suite, { accounts, limits })];
}

function excessRemarks(
  suite: LoadSuite,
  { accounts, limits }: { accounts: number; limits: InstanceLimits },
): string[] {
  const remedy = 'Add accounts with --keys, or raise the limit of the instance';
  const mostPerSecond = (limits.requestsPerMinute * accounts) / 60;
  const mostCalls = limits.syncConcurrency * accounts;
  const sentences = suite.stages.flatMap((stage) => {
    if (stage.loop === 'open') {
      const perSecond = sum(
        Object.values(stage.perSecond).map((rate) =>
          typeof rate === 'object' && 'times' in rate ? 0 : meanRate(rate, stage.seconds),
        ),
      );
      return perSecond <= mostPerSecond
        ? []
        : [
            `The stage ${stage.name} sends ${round(perSecond)} calls/s, but its accounts may send ${round(mostPerSecond)}. ${remedy} (REQUESTS_PER_MINUTE).`,
          ];
    }
    const connections = sum(Object.values(stage.connections));
    return connections <= mostCalls
      ? []
      : [
          `The stage ${stage.name} keeps ${connections} calls in flight, but its accounts may have ${mostCalls} image calls. ${remedy} (SYNC_CALLS_PER_ACCOUNT).`,
        ];
  });
  if (mostPerSecond < MAX_REQUESTS_PER_SECOND && suite.stages.some(({ loop }) => loop === 'closed'))
    sentences.push(
      `Closed stages send as fast as they are answered: from ${round(mostPerSecond)} calls/s on they are refused (request_rate).`,
    );
  return sentences;
}

/** The version in the OpenAPI document; null if there is no document of a Darkroom. */
async function readVersion(url: string): Promise<string | null> {
  const answer = await request(`${url}/openapi.json`, {});
  try {
    const { info } = (await answer.json()) as { info?: { title?: string; version?: string } };
    return info?.title?.includes('Darkroom') ? (info.version ?? null) : null;
  } catch {
    return null;
  }
}

async function request(url: string, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${url} does not answer: ${cause instanceof Error ? cause.message : message}.`);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
