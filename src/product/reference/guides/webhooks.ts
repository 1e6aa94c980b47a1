import {
  type DocumentationPage,
  descriptionBlocks,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';
import { WEBHOOK_VERIFICATION_TEXT } from '../../webhooks/endpoints/signing.ts';

export const webhooksGuide: DocumentationPage = {
  title: 'Webhooks',
  lead: 'The service calls you when a job ends: signed, and retried for 24 hours.',
  blocks: [
    headingBlock('Register an address'),
    paragraphBlock(
      'HOOK is an https address of yours. The answer has the secret that signs the deliveries, only this once. On your own machine start the service with `OUTBOUND_ALLOW_HTTP=true OUTBOUND_ALLOWED_SUBNETS=127.0.0.0/8`, and an address such as `http://127.0.0.1:9900/hook` will do.',
    ),
    shellSampleBlock(`ENDPOINT=$(curl -sS --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"url": "'$HOOK'", "events": ["job.completed", "job.failed"]}' \\
  "$BASE/api/v1/webhook-endpoints" \\
  | tee endpoint.json \\
  | jq -r .data.id)
SECRET=$(jq -r .data.secret endpoint.json)`),
    headingBlock('Send a delivery'),
    paragraphBlock(
      'A test delivery is signed and sent like every other. The list of deliveries says what became of it.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -X POST \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/webhook-endpoints/$ENDPOINT/test"
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/webhook-endpoints/$ENDPOINT/deliveries"`),
    headingBlock('Verify it'),
    ...descriptionBlocks(WEBHOOK_VERIFICATION_TEXT),
    headingBlock('Answer it'),
    listBlock(
      'Answer 2xx within 10 seconds, and work afterwards: every other answer is a failure, and is tried again.',
      'A delivery may arrive twice. `webhook-id` is the same at every attempt: keep it, and drop the repeat.',
      'After five deliveries in a row that ran out of retries the endpoint is disabled; PUT with `enabled: true` starts it again.',
      ['Every field: ', pageLink('POST /api/v1/webhook-endpoints', '/docs/createWebhookEndpoint'), '.'],
    ),
    headingBlock('After an outage of yours'),
    paragraphBlock('One call sends each event again whose last delivery failed, oldest first.'),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"since": "2026-01-31T12:00:00Z"}' \\
  "$BASE/api/v1/webhook-endpoints/$ENDPOINT/redeliver"`),
  ],
};
