/**
 * Examples for path parameters on the documentation page: a built-in for calls that read, and an unused id for all
 * others, so that trying a call out neither changes nor deletes anything.
 */
const READ_EXAMPLES: Readonly<Record<string, string>> = {
  op: 'resize',
  slug: 'builtin-web-optimized',
  templateId: 'builtin-template-social-card',
};
const IDS_OF_NOTHING: Readonly<Record<string, string>> = {
  assetId: `ast_${'0'.repeat(24)}`,
  jobId: `job_${'0'.repeat(24)}`,
  keyId: `key_${'0'.repeat(24)}`,
  endpointId: `whe_${'0'.repeat(24)}`,
  deliveryId: `whd_${'0'.repeat(24)}`,
  templateId: `tpl_${'0'.repeat(24)}`,
  sessionId: `ses_${'0'.repeat(24)}`,
  requestId: '00000000-0000-4000-8000-000000000000',
  slug: `pre_${'0'.repeat(24)}`,
  version: '1',
  name: 'example',
  signature: '0'.repeat(32),
  what: 'builtin-web-optimized@1',
  source: `ast_${'0'.repeat(24)}.webp`,
  width: '640.webp',
};

/** The example of a parameter in a path; undefined for a parameter without an example. */
export function pathExampleOf(method: string, name: string): string | undefined {
  return (method === 'get' ? READ_EXAMPLES[name] : undefined) ?? IDS_OF_NOTHING[name];
}
