/** Operations whose derived name would be misleading. */
const OPERATION_NAMES: Record<string, string> = {
  'POST /images/metadata': 'readImageMetadata',
  'POST /images/read-text': 'readImageText',
  'POST /images/read-codes': 'readImageCodes',
  'POST /auth/sign-in': 'signIn',
  'POST /auth/cookie': 'signInBrowser',
  'POST /auth/cookie/link': 'signInByLink',
  'POST /auth/sign-out': 'signOut',
  'POST /assets': 'reserveAsset',
  'PUT /assets/{assetId}/content': 'putAssetContent',
  'POST /upload-tickets/{assetId}': 'uploadByTicket',
  'GET /assets/{assetId}/content': 'readAssetContent',
  'DELETE /api-keys/self': 'revokeOwnApiKey',
  'DELETE /api-keys/{keyId}': 'revokeApiKey',
  'POST /templates/import': 'importTemplates',
  'POST /presets/import': 'importPresets',
  'GET /pricing/image-models': 'readPriceList',
  'GET /d/{keyId}/{signature}/{what}/{source}': 'deliverPicture',
  'GET /d/{keyId}/{signature}/{what}/{source}/{width}': 'deliverPictureWidth',
  'DELETE /signing-keys/{keyId}': 'revokeSigningKey',
  'POST /delivery-links': 'signDeliveryLinks',
  'GET /llms.txt': 'readLlmsText',
  'GET /agent-guidelines': 'readGuidelines',
  'GET /feedback': 'listFeedback',
  'GET /requests/errors': 'groupRequestErrors',
  'GET /auth/sessions': 'listSessions',
  'DELETE /auth/sessions/{sessionId}': 'endSession',
  'GET /jobs/counts': 'countJobs',
  'POST /webhook-endpoints/{endpointId}/rotate-secret': 'rotateWebhookSecret',
  'POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver': 'redeliverWebhook',
  'GET /webhook-endpoints/{endpointId}/deliveries': 'listWebhookDeliveries',
  'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}': 'getWebhookDelivery',
  'POST /webhook-endpoints/{endpointId}/redeliver': 'redeliverFailedWebhooks',
  'POST /operator/v1/session': 'openOperatorSession',
  'DELETE /operator/v1/session': 'endOperatorSession',
  'GET /operator/v1/state': 'readOperatorState',
  'POST /operator/v1/settings': 'setOperatorSetting',
  'POST /operator/v1/drains': 'drainProcess',
  'POST /operator/v1/log-level': 'setLogLevel',
  'GET /operator/v1/findings': 'readOperatorFindings',
  'GET /operator/v1/runs': 'listRuns',
  'GET /operator/v1/runs/{name}': 'readRun',
};

const METHOD_VERBS: Record<string, string> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/**
 * The name of an operation in generated clients: `listTemplates`, `getTemplate`, `cancelJob`, `transformImage`.
 * @param path as in the document, with its parameters in braces.
 */
export function operationIdOf(method: string, path: string): string {
  const short = path.replace(/^\/api(\/v1)?(?=\/)/, '');
  const known = OPERATION_NAMES[`${method} ${short}`];
  if (known !== undefined) return known;
  const parts = short.split('/').slice(1);
  const words = parts.filter((part) => !part.startsWith('{'));
  const last = words.at(-1) ?? '';
  const endsInId = parts.at(-1)?.startsWith('{') ?? false;
  // In a POST below a noun, the last segment of the path is the verb.
  if (method === 'POST' && words.length > 1 && !endsInId)
    return camelCase([last, ...words.slice(0, -1).map(singularOf)]);
  if (endsInId) return camelCase([METHOD_VERBS[method] ?? method, ...words.map(singularOf)]);
  const isList = method === 'GET' && last.endsWith('s') && !['credits', 'metrics'].includes(last);
  const verb = isList ? 'list' : (METHOD_VERBS[method] ?? method);
  const noun = method === 'POST' ? singularOf(last) : last;
  return camelCase([verb, ...words.slice(0, -1).map(singularOf), noun]);
}

function singularOf(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

function camelCase(words: readonly string[]): string {
  const parts = words.flatMap((word) => word.split(/[^A-Za-z0-9]+/)).filter((part) => part !== '');
  return parts
    .map((part, index) => (index === 0 ? part.toLowerCase() : `${part[0]?.toUpperCase()}${part.slice(1)}`))
    .join('');
}
