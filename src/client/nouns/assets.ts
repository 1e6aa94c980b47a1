import { type ImageBytes, imageRequestBody } from '../bodies.ts';
import { Download } from '../picture.ts';
import type { Asset, Link } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The images that the account stores. */
export class Assets extends CallGroup {
  /**
   * Stores an image. If the account already has an asset with the same bytes, that asset is returned. The name of a
   * File becomes the name of the asset, unless another one is given.
   */
  async upload(
    input: ImageBytes | { url: string | URL },
    {
      name,
      collection,
      palette,
      ...options
    }: CallOptions & { name?: string; collection?: string; palette?: number } = {},
  ): Promise<Asset> {
    const query = { name: name ?? (input as Partial<File>).name, collection, palette };
    const call = { method: 'POST', path: '/assets/upload', query, body: imageRequestBody(input) };
    return (await this.transport.json<Asset>(call, options)).data;
  }

  /** Lists assets, newest first. With similarTo, the most similar ones come first. */
  readonly list = this.listMethodWithQuery('GET /assets');
  readonly get = this.methodWithId('GET /assets/{assetId}');
  readonly delete = this.methodWithId('DELETE /assets/{assetId}');

  /** The bytes of an asset. */
  async download(assetId: string, options?: CallOptions): Promise<Download> {
    const path = `/assets/${encodeURIComponent(assetId)}/content`;
    return new Download(await this.transport.bytes({ method: 'GET', path, accept: '*/*' }, options));
  }

  /**
   * Downloads a small WebP of the asset's first frame, free of charge.
   * @param edge the longest side in pixels.
   */
  async preview(assetId: string, edge: 64 | 128 | 256, options?: CallOptions): Promise<Download> {
    const path = `/assets/${encodeURIComponent(assetId)}/content`;
    const call = { method: 'GET', path, query: { preview: edge }, accept: '*/*' };
    return new Download(await this.transport.bytes(call, options));
  }

  /**
   * Makes a link to the bytes of an asset. It needs no credential, and expires after 300 seconds unless another time is
   * given.
   */
  link(
    assetId: string,
    { expiresInSeconds, ...options }: CallOptions & { expiresInSeconds?: number } = {},
  ): Promise<Link> {
    const query = expiresInSeconds === undefined ? {} : { expiresInSeconds };
    return this.send('GET /assets/{assetId}/link', { path: { assetId }, query }, options);
  }
}
