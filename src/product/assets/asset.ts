import type { ImageObject, ImageTags } from '../../imaging/images/image-object.ts';
import type { CallWarning } from '../../platform/http/hooks/warnings.ts';
import { newId, randomText } from '../../platform/ids/ids.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { type HashBytes, hashBytesOf } from './likeness.ts';
import type { Asset } from './schema.ts';

export interface AssetDocument {
  _id: string;
  accountId: string;
  /**
   * The state of the asset. Only a `kept` asset is visible through the API. The document is stored before the object,
   * and deleted after it, so that every object has a document. The state is `arriving` during the upload, `abandoned`
   * after a failed upload, and `leaving` after the deletion. The output of a job is `made` until it is recorded with
   * its item.
   */
  state: 'arriving' | 'made' | 'kept' | 'leaving' | 'abandoned';
  /** When the asset got its current state. */
  stateAt: string;
  status: AssetStatus;
  name: string | null;
  collection: string | null;
  origin: AssetOrigin;
  jobId: string | null;
  itemIndex: number | null;
  /**
   * Warnings about an output, such as that the sandbox made it. Every response that contains its bytes repeats them.
   * Absent without warnings.
   */
  warnings?: readonly CallWarning[];
  /** The key of the object for the bytes; null for a reserved asset until its upload begins. */
  objectKey: string | null;
  /** The SHA-256 of the bytes in hexadecimal, which is their ETag. Null until the bytes are stored. */
  digest: string | null;
  /** CRC-32 of the bytes, for archives. Absent until the bytes are stored. */
  crc32?: number;
  /**
   * The digest of an uploaded image. It is unique within the account, so that a later upload of equal bytes returns
   * this asset. Absent on outputs of jobs.
   */
  identity?: string;
  image: ImageObject | null;
  /**
   * The image's perceptual hash, one field per byte, because each byte has an index. Absent if the image has no hash.
   */
  hashBytes?: HashBytes;
  /**
   * The metadata of the file as JSON text. It is not stored as an object, because a store may not accept its keys as
   * field names.
   */
  metadata: string | null;
  createdAt: string;
  /** When the asset expires; null for an asset that is stored until it is deleted. */
  expiresAt: string | null;
}

export type AssetStatus = Asset['status'];
type AssetOrigin = Asset['origin'];

/** The fields of an asset that are known before its upload. */
export type AssetLabels = Pick<
  AssetDocument,
  'name' | 'collection' | 'origin' | 'jobId' | 'itemIndex' | 'warnings' | 'expiresAt'
>;

/** The checksums of the bytes, computed while they are stored. */
export interface ContentChecksums {
  digest: string;
  crc32: number;
}

/** The fields of an asset that are known once its bytes are stored. */
export type AssetContentFields = Pick<AssetDocument, 'image' | 'hashBytes' | 'metadata'> & ContentChecksums;

/** A new asset, before its upload. */
export function newAssetDocument(
  accountId: string,
  begin: AssetLabels & Pick<AssetDocument, 'state' | 'objectKey'>,
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

/** The main colours of an image. */
export type AssetPalette = NonNullable<ImageObject['palette']>;

/**
 * The description of an image, as an asset stores it. A palette is not stored, because it belongs to the response of
 * one call.
 */
export function descriptionFieldsOf(
  { palette: _, ...image }: ImageObject,
  metadata: ImageTags,
): Pick<AssetDocument, 'image' | 'hashBytes' | 'metadata'> {
  const hashBytes = image.perceptualHash && hashBytesOf(image.perceptualHash);
  return { image, ...(hashBytes && { hashBytes }), metadata: JSON.stringify(metadata) };
}

/** A new random key for the object store. The keys of all assets begin with `assets/`. */
export function newObjectKey(): string {
  return `assets/${randomText(24)}`;
}

export function assetResponseOf(asset: AssetDocument): Asset {
  const { _id: id, status, origin, name, collection, jobId, itemIndex, image, metadata } = asset;
  const { createdAt, expiresAt } = asset;
  return {
    id,
    status,
    origin,
    createdAt,
    ...withoutAbsentFields({ name, collection, jobId, itemIndex, image, expiresAt }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) }),
  };
}
