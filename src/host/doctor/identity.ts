import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Settings } from '../../../config/index.ts';
import { LINK_SECRET_LOCATION, LinkSigner } from '../../platform/http/signatures.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { connectMongoDocuments } from '../../platform/stores/documents/mongodb.ts';
import { DOCUMENTS_FILE, hasEmbeddedStores } from '../../platform/stores/open.ts';
import { type DoctorFinding, okFinding, problemFinding, requestAddress, warningFinding } from './finding.ts';

const TEST_LINK_LIFE_MS = 60_000;

/**
 * Checks whether an address belongs to the service on these stores. It requests a result that does not exist, by a link
 * signed with the key of these stores. The right service responds that the result does not exist (404); any other
 * service refuses the link (403).
 */
export async function checkPublicUrlOwner(
  publicUrl: string,
  stores: Settings['stores'],
): Promise<DoctorFinding> {
  const signatures = await readLinkSigner(stores);
  if (signatures === null)
    return warningFinding(
      `Whether PUBLIC_URL (${publicUrl}) leads to this service is not known: its stores have no signing key yet.`,
      'Start the service once on these stores, and run the doctor again.',
    );
  const name = randomText(24);
  const query = signatures.sign('result', name, new Date(Date.now() + TEST_LINK_LIFE_MS));
  const { status } = await requestAddress(`${publicUrl}/results/${name}?${query}`);
  return status === 404
    ? okFinding(
        `PUBLIC_URL (${publicUrl}) leads to this service: it takes a link that is signed with its own key.`,
      )
    : problemFinding(
        `PUBLIC_URL (${publicUrl}) leads to another service: it refuses a link that is signed with the key of this one (HTTP ${status}).`,
        'Point it, or the proxy behind it, to this service; hosts of one service share MONGODB_URL.',
      );
}

/** Reads the signing key of the stores; null when no service has ever been started on them. */
export async function readLinkSigner(stores: Settings['stores']): Promise<LinkSigner | null> {
  if (hasEmbeddedStores(stores)) {
    const secret = readSecretFromFile(stores.DATA_DIR);
    return secret === null ? null : new LinkSigner(secret);
  }
  await using opened = new AsyncDisposableStack();
  const documents = opened.adopt(connectMongoDocuments(stores.MONGODB_URL), (store) => store.close());
  return await LinkSigner.openExisting(documents);
}

/** Reads the secret from the database file, which is possible while the service uses the file. */
function readSecretFromFile(dataDir: string): string | null {
  const path = join(dataDir, DOCUMENTS_FILE);
  if (!existsSync(path)) return null;
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?");
  if (tables.get(LINK_SECRET_LOCATION.collection) === undefined) return null;
  const select = database.prepare(`SELECT body FROM "${LINK_SECRET_LOCATION.collection}" WHERE "_id" = ?`);
  const row = select.get(LINK_SECRET_LOCATION.id);
  return row === undefined ? null : String(JSON.parse(String(row.body)).value);
}
