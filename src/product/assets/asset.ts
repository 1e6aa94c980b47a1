import type { ImageObject } from '../../imaging/pixels/image-object.ts';
import { newId, randomText } from '../../platform/names/ids.ts';
import { present } from '../../platform/names/present.ts';
import type { Asset } from './schema.ts';

/** An asset as it is stored. */
export interface AssetDocument {
  _id: string;
  accountId: string;
  /**
   * Only a `kept` asset is seen. A document stands before its object and after it, so that no object is ever without
   * one: `arriving` while the bytes come, `abandoned` when they never did, `leaving` once it was deleted. The output of
   * a job is `made` until its item is settled with it.
   */
  state: 'arriving' | 'made' | 'kept' | 'leaving' | 'abandoned';
  /** Since when. */
  stateAt: string;
  status: AssetStatus;
  name: string | null;
  collection: string | null;
  origin: AssetOrigin;
  jobId: string | null;
  itemIndex: number | null;
  /** Where the bytes are, or are coming to; null for a reserved asset until somebody puts them. */
  objectKey: string | null;
  /** SHA-256 of the bytes in hexadecimal: the ETag. Null until they are there. */
  digest: string | null;
  /** The digest again, of an upload that equal ones are merged into: unique in the account. Absent on all others. */
  identity?: string;
  image: ImageObject | null;
  /** JSON text, because its keys are the file's own words and not ones that every store takes. */
  metadata: string | null;
  createdAt: string;
  /** Null for an asset that stays until it is deleted. */
  expiresAt: string | null;
}

export type AssetStatus = Asset['status'];
type AssetOrigin = Asset['origin'];

/** The fields of an asset that are known before its bytes. */
export type Labels = Pick<
  AssetDocument,
  'name' | 'collection' | 'origin' | 'jobId' | 'itemIndex' | 'expiresAt'
>;

/** The fields that are known once the bytes are stored. */
export type Content = Pick<AssetDocument, 'digest' | 'image' | 'metadata'>;

/** An asset before its bytes. */
export function newAsset(
  accountId: string,
  begin: Labels & Pick<AssetDocument, 'state' | 'objectKey'>,
  now: Date,
): AssetDocument {
  return {
    _id: newId('ast', now.getTime()),
    accountId,
    stateAt: now.toISOString(),
    status: 'PENDING',
    digest: null,
    image: null,
    metadata: null,
    createdAt: now.toISOString(),
    ...begin,
  };
}

/** A key that no object has; those of all assets lie under one prefix. */
export function newObjectKey(): string {
  return `assets/${randomText(24)}`;
}

/** An asset as the API shows it. */
export function assetOf(asset: AssetDocument): Asset {
  const { _id: id, status, origin, name, collection, jobId, itemIndex, image, metadata } = asset;
  const { createdAt, expiresAt } = asset;
  return {
    id,
    status,
    ...present({ name, collection }),
    origin,
    ...present({ jobId, itemIndex, image }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) }),
    createdAt,
    ...present({ expiresAt }),
  };
}
