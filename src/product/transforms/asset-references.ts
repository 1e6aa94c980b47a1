/**
 * Finds the assets that a template references: by `asset://<assetId>`, or by the service's own URL of their content,
 * including signed links. References may be anywhere in the text of the document.
 */

const ASSET_SCHEME = /asset:\/\/(ast_[0-9A-Za-z]+)/g;

/**
 * The ids of the assets that a document references, each once, in order. The caller must check whether they exist, and
 * whose they are.
 *
 * @param html as withAssetScheme made it
 */
export function assetIdsIn(html: string): string[] {
  const named = html.matchAll(ASSET_SCHEME);
  return [...new Set([...named].map(([, assetId]) => assetId ?? ''))];
}

/**
 * The document with every URL of an asset's content replaced by `asset://<assetId>`, the only form that workers know.
 * It must be called before anything else reads the document.
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
