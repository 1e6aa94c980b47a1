import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccountsStore } from '../accounts/store.ts';
import { AssetCollections } from '../assets/collections/collections.ts';
import { AssetsStore } from '../assets/store.ts';
import { BillingStore } from '../billing/store.ts';
import { Outbox } from '../events/outbox.ts';
import { FeedbackStore } from '../feedback/store.ts';
import { ItemsStore } from '../jobs/items-store.ts';
import { JobsStore } from '../jobs/store.ts';
import { PresetsStore } from '../presets/store.ts';
import type { CollectionSpec, Documents, IndexSpec } from '../stores/documents/port.ts';
import { TemplatesStore } from '../templates/store.ts';
import { DeliveriesStore } from '../webhooks/deliveries/store.ts';
import { EndpointsStore } from '../webhooks/endpoints/store.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const MEND =
  'Restart the service, which builds them; where it cannot, its log says why, such as documents that break a unique one.';

/** The indexes of the database that an address names, beside those that the service wants; looking makes none. */
export async function lookAtIndexes(url: string): Promise<Finding> {
  const { connectMongoDocuments } = await import('../stores/documents/mongodb.ts');
  const documents = await connectMongoDocuments(url);
  const held = await documents.collections().finally(() => documents.close());
  return judgeIndexes(await wantedCollections(), held);
}

/**
 * Every collection that the stores declare, with its indexes: the stores are opened on an empty embedded database of
 * their own, which is removed again.
 */
export async function wantedCollections(): Promise<CollectionSpec[]> {
  const { openEmbeddedDocuments } = await import('../stores/documents/embedded/actor.ts');
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  try {
    await openEach(documents, () => new Date());
    return await documents.collections();
  } finally {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function openEach(documents: Documents, now: () => Date): Promise<void> {
  const assets = await AssetsStore.open(documents, now);
  await Promise.all([
    AccountsStore.open(documents),
    AssetCollections.open(documents, assets, now),
    BillingStore.open(documents),
    DeliveriesStore.open(documents),
    EndpointsStore.open(documents),
    FeedbackStore.open(documents),
    ItemsStore.open(documents, now),
    JobsStore.open(documents, now),
    Outbox.open(documents),
    PresetsStore.open(documents),
    TemplatesStore.open(documents),
  ]);
}

/** Indexes that are missing or declared otherwise; a unique one is a law that nothing else keeps. */
export function judgeIndexes(wanted: readonly CollectionSpec[], held: readonly CollectionSpec[]): Finding {
  if (held.length === 0) return ok('MongoDB holds nothing yet: the first start makes its indexes.');
  const heldIndexes = new Map(held.flatMap((spec) => named(spec)));
  const all = wanted.flatMap((spec) => named(spec));
  const lacking = all.filter(
    ([name, index]) => declarationOf(heldIndexes.get(name)) !== declarationOf(index),
  );
  if (lacking.length === 0) return ok(`MongoDB has the ${all.length} indexes that the service reads by.`);
  const names = lacking.map(([name, { unique }]) => (unique ? `${name} (unique)` : name)).join(', ');
  const says = `MongoDB lacks indexes, or has them declared otherwise: ${names}.`;
  return lacking.some(([, { unique }]) => unique) ? problem(says, MEND) : warning(says, MEND);
}

function named({ name, indexes }: CollectionSpec): Array<readonly [name: string, index: IndexSpec]> {
  return indexes.map((index) => [`${name}.${index.name}`, index]);
}

/** What makes two indexes the same, as text. */
function declarationOf(index: IndexSpec | undefined): string {
  if (index === undefined) return 'none';
  const { fields, unique = false, whenPresent = [] } = index;
  return JSON.stringify([fields, unique, whenPresent]);
}
