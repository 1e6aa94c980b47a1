import {
  heading,
  link,
  list,
  type Page,
  paragraph,
  samples,
  shell,
  table,
} from '../../../platform/pages/page.ts';

/** The key, the paths and the signatures that the samples print, so that a reader can check code of their own. */
const NODE = `import { createHmac } from 'node:crypto';

const keyId = 'sgk_0Vc2C4nu07iemyzIa4tP8Brt';
const secret = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789';

const sign = (message) => createHmac('sha256', secret).update(message).digest('base64url').slice(0, 32);

// One picture.
const path = 'resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp';
console.log(\`/d/\${keyId}/\${sign(path)}/\${path}\`);

// The same until an instant, in epoch seconds.
const end = \`\${path}?exp=1893456000\`;
console.log(\`/d/\${keyId}/\${sign(end)}/\${end}\`);

// Every width of a family: the width is not signed.
const family = 'card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk';
const signature = sign(\`\${family}/*.auto\`);
console.log([640, 1080].map((width) => \`/d/\${keyId}/\${signature}/\${family}/\${width}.auto \${width}w\`).join(', '));`;

const PYTHON = `import base64, hashlib, hmac

key_id = "sgk_0Vc2C4nu07iemyzIa4tP8Brt"
secret = "sgs_0123456789abcdefghijABCDEFGHIJ0123456789"

def sign(message):
    digest = hmac.new(secret.encode(), message.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode()[:32]

path = "resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp"
print(f"/d/{key_id}/{sign(path)}/{path}")

end = f"{path}?exp=1893456000"
print(f"/d/{key_id}/{sign(end)}/{end}")

family = "card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk"
signature = sign(f"{family}/*.auto")
print(", ".join(f"/d/{key_id}/{signature}/{family}/{width}.auto {width}w" for width in (640, 1080)))`;

const PHP = `<?php
$keyId = 'sgk_0Vc2C4nu07iemyzIa4tP8Brt';
$secret = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789';

function sign(string $message, string $secret): string {
    $digest = base64_encode(hash_hmac('sha256', $message, $secret, true));
    return substr(strtr($digest, '+/', '-_'), 0, 32);
}

$path = 'resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp';
echo "/d/$keyId/", sign($path, $secret), "/$path\\n";

$end = "$path?exp=1893456000";
echo "/d/$keyId/", sign($end, $secret), "/$end\\n";

$family = 'card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk';
$signature = sign("$family/*.auto", $secret);
$rungs = array_map(fn ($width) => "/d/$keyId/$signature/$family/$width.auto {$width}w", [640, 1080]);
echo implode(', ', $rungs), "\\n";`;

const NGINX = `proxy_cache_path /var/cache/nginx/pictures keys_zone=pictures:32m max_size=20g inactive=30d use_temp_path=off;

location /d/ {
    proxy_pass http://darkroom;
    proxy_cache pictures;
    proxy_cache_lock on;
    proxy_cache_use_stale error timeout updating;
    add_header X-Cache $upstream_cache_status;
}`;

const LOADER = `// next.config.js: images: { loader: 'custom', loaderFile: './loader.js', deviceSizes: [640, 750, 1080, 1920] }
// src is the signed family without its width: https://pictures.example.com/d/sgk_…/<signature>/card@3/ast_…
export default function loader({ src, width }) {
  return \`\${src}/\${width}.auto\`;
}`;

export const delivery: Page = {
  title: 'Pictures in web pages',
  lead: 'A signed address answers a changed picture to the browsers of your readers: made once, then kept.',
  blocks: [
    heading('An address without a signature of your own'),
    paragraph(
      'One call answers the address, and an element for a page. Nothing is made or counted until the picture is asked for, and only what is really made counts as a run.',
    ),
    shell(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"assetId": "'$ASSET'", "op": "resize", "parameters": {"width": 320}, "format": "webp"}' \\
  "$BASE/api/v1/delivery-links" \\
  | tee link.json
curl --fail-with-body "$(jq -r .data.url link.json)" -o delivered.webp`),
    heading('A family of widths'),
    paragraph(
      'With `widths` the browser chooses: the answer has `srcset` and `sizes`, and `html` has both. A width that is not among them is refused, so an address cannot be used to make any number of pictures. `format: auto` is the smallest of AVIF, WebP and the own format of the picture that the reader takes.',
    ),
    shell(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"assetId": "'$ASSET'", "op": "grayscale", "widths": [320, 640], "expiresInSeconds": 86400}' \\
  "$BASE/api/v1/delivery-links" \\
  | tee family.json
curl --fail-with-body -H "Accept: image/avif,image/webp,*/*" "$(jq -r .data.url family.json)" -o family.webp`),
    heading('Sign addresses yourself'),
    paragraph(
      'A signing key lets your own server sign without a call. Keep its secret on the server: it is shown once.',
    ),
    shell(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Shop"}' \\
  "$BASE/api/v1/signing-keys"`),
    table(
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
    list(
      'The signature is the first 32 characters of the base64url of HMAC-SHA256; its key is the text of the secret, `sgs_` included.',
      '`<what>` is a preset at a version, or one to five ops joined by `;`, each `<op>:<name>=<value>,<name>=<value>` with names and values as in the query of a transform. Percent-encode `,` `;` `/` `=` and `%` in them.',
      '`<source>` is an asset id, or `url:` and the base64url of a public address, which is read again after an hour.',
      '`<ext>` is jpg, jpeg, png, webp, avif, gif, tiff or auto. Left out, the format is that of the work.',
      'A width is one of the `widths` of the preset, or of 16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840 where it declares none. With `@<dpr>` (1 to 4) the next one from their product on is taken. No picture is enlarged.',
      'Other fields of the query are ignored.',
    ),
    paragraph(
      'These scripts print the same three lines. The signatures in them are `I34HdoEkaxoSRgLsPrf5q-i4fv1IFvBe`, `3gQo-r35gAeoLe08E2Yf3gCLk16nVTef` and `EnxTUCyZMmh6k4CpOibFEgPIdasdye4A`.',
    ),
    samples(
      { label: 'Node', language: 'js', code: NODE },
      { label: 'Python', language: 'python', code: PYTHON },
      { label: 'PHP', language: 'php', code: PHP },
    ),
    heading('A loader for a web framework'),
    paragraph(
      'The server signs a family once per picture, and the browser needs no secret. With next/image:',
    ),
    samples({ label: 'JavaScript', language: 'js', code: LOADER }),
    heading('What is answered'),
    table(
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
        [['503'], ['No place, or the public address fails. `Retry-After` says when.']],
      ],
    ),
    heading('A cache before the service'),
    paragraph(
      'Every answer has `Cache-Tag` and `Surrogate-Key`: `asset-<id>`, `preset-<id>-<version>` and `key-<id>`. Deletes of assets, presets and signing keys answer in `Cache-Tag` what a CDN has to purge. nginx needs no more than this; it tells the readers of `auto` apart by `Vary`:',
    ),
    samples({ label: 'nginx', language: 'nginx', code: NGINX }),
    list(
      ['Every field: ', link('POST /api/v1/delivery-links', '/docs/signDeliveryLinks'), '.'],
      ['The steps of a family: ', link('presets', '/docs/guides/presets'), '.'],
    ),
  ],
};
