/**
 * How a template names an asset: `asset://<assetId>`, or the service's own address of its content, a signed link
 * included. References are found in the text of the document, wherever they stand.
 */

const ASSET_SCHEME = /asset:\/\/(ast_[0-9A-Za-z]+)/g;

/**
 * Ids of the assets that a document names, each once, in order. Whether they exist, and whose they are, is for the caller to find out.
 *
 * @param html as withAssetScheme made it
 */
export function assetIdsIn(html: string): string[] {
  const named = html.matchAll(ASSET_SCHEME);
  return [...new Set([...named].map(([, assetId]) => assetId ?? ''))];
}

/**
 * The document with every address of an asset's content as `asset://<assetId>`, the one form that workers know. It is
 * made once, before anything else reads the document.
 *
 * @param publicUrl base of the service's own links, such as `https://images.example.com`
 */
export function withAssetScheme(html: string, publicUrl: string): string {
  const base = RegExp.escape(publicUrl.replace(/\/+$/, ''));
  const ownAddress = new RegExp(
    `${base}/api/v1/assets/(ast_[0-9A-Za-z]+)(?:/content)?(?:\\?[^\\s"'<>()\\\\]*)?(?![\\w/-])`,
    'g',
  );
  return html.replace(ownAddress, 'asset://$1');
}
