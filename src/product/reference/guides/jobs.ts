import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const jobsGuide: DocumentationPage = {
  title: 'Jobs',
  lead: 'An op, a preset or a chain of steps over up to 10,000 pictures, priced before it runs.',
  blocks: [
    headingBlock('Pictures to work on'),
    paragraphBlock(
      'A job works on assets: pictures that the account keeps. Upload each once; equal bytes are one asset. The commands below take its id from ASSET.',
    ),
    shellSampleBlock(`ASSET=$(curl -sS --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -F file=@photo.jpg \\
  "$BASE/api/v1/assets/upload" | jq -r .data.id)`),
    headingBlock('The price first'),
    paragraphBlock(
      'With `dryRun=true` the same body answers every refusal and the price, and runs nothing. `maxCredits` in the body is the most that the job may cost.',
    ),
    shellSampleBlock(`JOB='{"op": "resize", "assetIds": ["'$ASSET'"], "parameters": {"width": 64}}'
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d "$JOB" "$BASE/api/v1/jobs?dryRun=true"`),
    headingBlock('Submit it'),
    paragraphBlock(
      'An accepted job finishes even if a process of the service crashes. Send an Idempotency-Key: when the answer is lost, the same call with the same key answers the first job again.',
    ),
    shellSampleBlock(`ID=$(curl -sS --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: thumbnails-1" \\
  -d "$JOB" \\
  "$BASE/api/v1/jobs" \\
  | jq -r .data.id)`),
    headingBlock('Wait for it'),
    paragraphBlock(
      '`wait` holds the answer until the job ends, at most 60 seconds. A program that must not poll registers a ',
      pageLink('webhook', '/docs/guides/webhooks'),
      '.',
    ),
    shellSampleBlock(
      `curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/jobs/$ID?wait=60&fields=id,status,outcome"`,
    ),
    headingBlock('Take the results'),
    paragraphBlock(
      'Each item has a `resultAssetId`, or an `errorCode` and whether it is retryable. All pictures of a job are one archive.',
    ),
    shellSampleBlock(`RESULT=$(curl -sS --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/jobs/$ID" \\
  | jq -r '.data.items[0].resultAssetId')
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/assets/$RESULT/content" \\
  -o small.jpg
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  "$BASE/api/v1/jobs/$ID/results.zip" \\
  -o results.zip`),
    headingBlock('When some items fail'),
    listBlock(
      '`outcome` of an ended job is `all`, `some` or `none` of its items completed.',
      'Each try of an item has 60 seconds of work; its wait for a place does not count. After a failure that may pass, such as no place or no answer of a model, it is tried again, three times in all. Until then it shows `attempts` and `lastError`.',
      '`warnings` of an item are those that X-Service-Warnings of a synchronous call would tell, such as `not_enlarged`.',
    ),
    headingBlock('Cancel and resume'),
    listBlock(
      'POST /api/v1/jobs/{jobId}/cancel stops a job. Items that wait are cancelled at once; those that a worker has begun finish, and are charged.',
      'Until they have, the job is CANCELLING, and `cancelledItems` tells how many are cancelled. GET /api/v1/jobs/{jobId}?wait=60 answers when it is CANCELLED.',
      'The end of a cancelled job is the event `job.failed` with the status CANCELLED.',
      'POST /api/v1/jobs/{jobId}/resume makes a new job of the items that failed or were cancelled. What was made is kept, and is not paid again. With `dryRun=true` it is only priced.',
      ['Every field: ', pageLink('POST /api/v1/jobs', '/docs/createJob'), '.'],
    ),
  ],
};
