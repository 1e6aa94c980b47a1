import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  samplesBlock,
  shellSampleBlock,
  tableBlock,
} from '../../../platform/pages/page.ts';
import { LOADER_SAMPLES, SIGNING_SAMPLES } from './delivery-code.ts';

const NGINX_CONFIG = `proxy_cache_path /var/cache/nginx/pictures keys_zone=pictures:32m max_size=20g inactive=30d use_temp_path=off;

location /d/ {
    proxy_pass http://darkroom;
    proxy_cache pictures;
    proxy_cache_lock on;
    proxy_cache_use_stale error timeout updating;
    add_header X-Cache $upstream_cache_status;
}`;

export const deliveryGuide: DocumentationPage = {
  title: 'Pictures in web pages',
  lead: 'A signed address answers a changed picture to the browsers of your readers: made once, then kept.',
  blocks: [
    headingBlock('An address without a signature of your own'),
    paragraphBlock(
      'One call answers the address, and an element for a page. Nothing is made or counted until the picture is asked for, and only what is really made counts as a run.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"assetId": "'$ASSET'", "op": "resize", "parameters": {"width": 320}, "format": "webp"}' \\
  "$BASE/api/v1/delivery-links" \\
  | tee link.json
curl --fail-with-body "$(jq -r .data.url link.json)" -o delivered.webp`),
    headingBlock('A family of widths'),
    paragraphBlock(
      'With `widths` the browser chooses: the answer has `srcset` and `sizes`, and `html` has both. A width that is not among them is refused, so an address cannot be used to make any number of pictures. `format: auto` is the smallest of AVIF, WebP and the own format of the picture that the reader takes.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"assetId": "'$ASSET'", "op": "grayscale", "widths": [320, 640], "expiresInSeconds": 86400}' \\
  "$BASE/api/v1/delivery-links" \\
  | tee family.json
curl --fail-with-body -H "Accept: image/avif,image/webp,*/*" "$(jq -r .data.url family.json)" -o family.webp`),
    headingBlock('Sign addresses yourself'),
    paragraphBlock(
      'A signing key lets your own server sign without a call. Keep its secret on the server: it is shown once.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Shop"}' \\
  "$BASE/api/v1/signing-keys"`),
    tableBlock(
      ['Address', 'What is signed'],
      [
        [
          ['`/d/<key id>/<signature>/<what>/<source>[.<ext>][?exp=<epoch seconds>]`'],
          ['`<what>/<source>[.<ext>][?exp=…]`, exactly as it is sent'],
        ],
        [
          [
            '`/d/<key id>/<signature>/<preset>@<version>/<source>/<width>[@<dpr>].<ext>[?exp=<epoch seconds>]`',
          ],
          ['`<preset>@<version>/<source>/*.<ext>[?exp=…]`'],
        ],
      ],
    ),
    listBlock(
      'The signature is the first 32 characters of the base64url of HMAC-SHA256; its key is the text of the secret, `sgs_` included.',
      '`<what>` is a preset at a version, or one to five ops joined by `;`, each `<op>:<name>=<value>,<name>=<value>` with names and values as in the query of a transform. Percent-encode `,` `;` `/` `=` and `%` in them.',
      '`<source>` is an asset id, or `url:` and the base64url of a public address, which is read again after an hour.',
      '`<ext>` is jpg, jpeg, png, webp, avif, gif, tiff or auto. Left out, the format is that of the work.',
      'A width is one of the `widths` of the preset, or of 16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840 where it declares none. With `@<dpr>` (1 to 4) the next one from their product on is taken. No picture is enlarged.',
      'Other fields of the query are ignored.',
    ),
    paragraphBlock(
      'These scripts print the same three lines. The signatures in them are `I34HdoEkaxoSRgLsPrf5q-i4fv1IFvBe`, `3gQo-r35gAeoLe08E2Yf3gCLk16nVTef` and `EnxTUCyZMmh6k4CpOibFEgPIdasdye4A`.',
    ),
    samplesBlock(...SIGNING_SAMPLES),
    headingBlock('A loader for a web framework'),
    paragraphBlock(
      'The server signs a family once per picture and gives its address without the width, `https://pictures.example.com/d/sgk_…/<signature>/card@3/ast_…`, as the source of the image. The loader adds the width, and the browser needs no secret.',
    ),
    samplesBlock(...LOADER_SAMPLES),
    paragraphBlock(
      'A width with `@1` takes the next rung of the preset from there on, so that a loader need not know them. No rung is wider than the largest one, which is 3840 where the preset declares none.',
    ),
    headingBlock('What is answered'),
    tableBlock(
      ['Answer', 'When'],
      [
        [
          ['200'],
          [
            '`Cache-Control: public, immutable` for a year, or until the address or the asset ends; of a public address for an hour. A strong `ETag`.',
          ],
        ],
        [['304, and HEAD'], ['Without a run: the ETag of an asset’s picture is known before it is made.']],
        [['400'], ['The signature is right, and the work cannot run: `error.param` names the step.']],
        [['402'], ['The allowance and the balance are spent. Pictures that are kept are still answered.']],
        [
          ['404'],
          [
            'Altered, expired, revoked, off the ladder, or gone: one and the same answer. Caches keep it for 10 seconds.',
          ],
        ],
        [
          ['`fallback` of the preset'],
          [
            'Where a preset declares `{assetId, status}`: that picture with that status, while the source is away. No cache keeps it.',
          ],
        ],
        [
          ['429'],
          [
            'Too many wrong addresses came from this client, as for wrong keys: wait for `Retry-After`. Right addresses are answered meanwhile.',
          ],
        ],
        [['503'], ['No place, or the public address fails. `Retry-After` says when.']],
      ],
    ),
    headingBlock('A cache before the service'),
    paragraphBlock(
      'nginx needs no more than this: it keeps an answer as long as `Cache-Control` says, and tells the readers of `auto` apart by `Vary`.',
    ),
    samplesBlock({ label: 'nginx', language: 'nginx', code: NGINX_CONFIG }),
    paragraphBlock('Of a CDN:'),
    listBlock(
      'Its origin is this service, and the path `/d/` is cached by path and query. The only field of the query that matters is `exp`.',
      'Many CDNs ignore `Vary: Accept` for pictures: there, add what Accept has of `image/avif` and `image/webp` to the key of the cache, or name a format in place of `auto`.',
      'Name its networks in `TRUST_PROXY`: else wrong addresses of one reader count against all of its readers.',
      'Every answer has `Cache-Tag` and `Surrogate-Key`: `asset-<id>`, `preset-<id>-<version>` and `key-<id>`. Deletes of assets, presets, their versions and signing keys answer in `Cache-Tag` what has to be purged: the service itself answers 404 at once, and a CDN answers its copy until it is told.',
    ),
    listBlock(
      ['Every field: ', pageLink('POST /api/v1/delivery-links', '/docs/signDeliveryLinks'), '.'],
      ['The steps of a family: ', pageLink('presets', '/docs/guides/presets'), '.'],
    ),
  ],
};
