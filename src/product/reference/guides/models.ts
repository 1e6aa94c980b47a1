import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const modelsGuide: DocumentationPage = {
  title: 'Models',
  lead: 'Generate, edit, upscale, cut out, expand and analyze: AI ops run in jobs, on the models that the operator offers.',
  blocks: [
    headingBlock('What is offered'),
    paragraphBlock(
      'GET /api/v1/ai-models lists the models with their prices and parameters. Without a provider the sandbox stands in: it needs no key, and what it makes is invented, for tests alone. Its answers say `sandbox: true`, and its pictures come with `X-Service-Warnings: sandbox_model:<model>`.',
    ),
    shellSampleBlock('curl --fail-with-body -H "Authorization: ApiKey $KEY" "$BASE/api/v1/ai-models"'),
    headingBlock('A picture from words'),
    paragraphBlock('`generate` takes a prompt. `wait` holds the answer of a job of one item.'),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"op": "generate", "prompt": "A lighthouse at dusk"}' "$BASE/api/v1/jobs?wait=30"`),
    headingBlock('A picture that is changed'),
    paragraphBlock(
      'The other ops take assets. A job may also be a chain: deterministic steps before and after a model are one job, and only the model costs credits.',
    ),
    shellSampleBlock(`ASSET=$(curl -sS --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -F file=@photo.jpg \\
  "$BASE/api/v1/assets/upload" | jq -r .data.id)
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"assetIds": ["'$ASSET'"], "steps": [
        {"op": "remove_background"},
        {"op": "resize", "parameters": {"width": 400, "format": "png"}}]}' "$BASE/api/v1/jobs?wait=30"`),
    headingBlock('What it costs'),
    listBlock(
      'AI ops are priced in credits per item that completes; an item that fails costs nothing.',
      'POST /api/v1/jobs with `dryRun=true` answers the price of a body, and `maxCredits` bounds it.',
      [
        'Prices of image models without a key: ',
        pageLink('GET /api/pricing/image-models', '/docs/readPriceList'),
        '.',
      ],
    ),
    headingBlock('A provider of your own'),
    paragraphBlock(
      'The operator sets `OPENAI_API_KEY`, `GEMINI_API_KEY` or `REPLICATE_API_TOKEN`; `OPENAI_BASE_URL` alone is enough for a server of your own that speaks the interface of OpenAI. The models of a provider are offered as soon as its key is set.',
    ),
  ],
};
