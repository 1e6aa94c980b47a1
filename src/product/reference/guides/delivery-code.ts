import type { PageSample } from '../../../platform/pages/page.ts';

/**
 * All samples use the same example key and paths, and print the same signatures, so that readers can compare the output
 * of their own code.
 */
const NODE_SIGNING = `import { createHmac } from 'node:crypto';

const keyId = 'sgk_0Vc2C4nu07iemyzIa4tP8Brt';
const secret = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789';

const sign = (message) => createHmac('sha256', secret).update(message).digest('base64url').slice(0, 32);

// One picture.
const path = 'resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp';
console.log(\`/d/\${keyId}/\${sign(path)}/\${path}\`);

// The same until an instant, in epoch seconds.
const end = \`\${path}?exp=1893456000\`;
console.log(\`/d/\${keyId}/\${sign(end)}/\${end}\`);

// One signature for every width: the width is not signed.
const family = 'card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk';
const signature = sign(\`\${family}/*.auto\`);
console.log([640, 1080].map((width) => \`/d/\${keyId}/\${signature}/\${family}/\${width}.auto \${width}w\`).join(', '));`;

const PYTHON_SIGNING = `import base64, hashlib, hmac

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

const PHP_SIGNING = `<?php
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

const GO_SIGNING = `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

const keyID = "sgk_0Vc2C4nu07iemyzIa4tP8Brt"
const secret = "sgs_0123456789abcdefghijABCDEFGHIJ0123456789"

func sign(message string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(message))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:32]
}

func main() {
	path := "resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp"
	fmt.Printf("/d/%s/%s/%s\\n", keyID, sign(path), path)

	end := path + "?exp=1893456000"
	fmt.Printf("/d/%s/%s/%s\\n", keyID, sign(end), end)

	family := "card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk"
	base := fmt.Sprintf("/d/%s/%s/%s", keyID, sign(family+"/*.auto"), family)
	fmt.Printf("%s/640.auto 640w, %s/1080.auto 1080w\\n", base, base)
}`;

const RUBY_SIGNING = `require 'base64'
require 'openssl'

KEY_ID = 'sgk_0Vc2C4nu07iemyzIa4tP8Brt'
SECRET = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789'

def sign(message)
  Base64.urlsafe_encode64(OpenSSL::HMAC.digest('SHA256', SECRET, message))[0, 32]
end

path = 'resize:width=640/ast_0Vc2C4soqnARqnzxkOQlkrIk.webp'
puts "/d/#{KEY_ID}/#{sign(path)}/#{path}"

ending = "#{path}?exp=1893456000"
puts "/d/#{KEY_ID}/#{sign(ending)}/#{ending}"

family = 'card@3/ast_0Vc2C4soqnARqnzxkOQlkrIk'
signature = sign("#{family}/*.auto")
puts [640, 1080].map { |width| "/d/#{KEY_ID}/#{signature}/#{family}/#{width}.auto #{width}w" }.join(', ')`;

/** How to sign addresses in five languages. Each script prints the same three lines. */
export const SIGNING_SAMPLES: readonly PageSample[] = [
  { label: 'Node', language: 'js', code: NODE_SIGNING },
  { label: 'Python', language: 'python', code: PYTHON_SIGNING },
  { label: 'PHP', language: 'php', code: PHP_SIGNING },
  { label: 'Go', language: 'go', code: GO_SIGNING },
  { label: 'Ruby', language: 'ruby', code: RUBY_SIGNING },
];

const NEXT_LOADER = `// loader.js; in next.config.js: images: { loader: 'custom', loaderFile: './loader.js' }
export default function loader({ src, width }) {
  return \`\${src}/\${Math.min(width, 3840)}@1.auto\`;
}`;

const NUXT_LOADER = `// providers/darkroom.js; in nuxt.config: image: { providers: { darkroom: { provider: '~/providers/darkroom.js' } } }
export const getImage = (src, { modifiers = {} } = {}) => {
  const width = Math.min(Number(modifiers.width ?? 1080), 3840);
  return { url: \`\${src}/\${width}@1.auto\` };
};

// Nuxt Image 2 takes the provider from here, and version 1 from above.
export default () => ({ getImage });`;

const ASTRO_LOADER = `// darkroom-service.js; in astro.config.mjs: image: { service: { entrypoint: './darkroom-service.js' } }
const urlOf = (src, width = 1080) => \`\${src}/\${Math.min(width, 3840)}@1.auto\`;

export default {
  getURL: ({ src, width }) => urlOf(src, width),
  getSrcSet: ({ src, widths = [] }) =>
    widths.map((width) => ({ url: urlOf(src, width), transform: { src, width }, descriptor: \`\${width}w\` })),
  getHTMLAttributes: ({ src, widths, format, quality, ...attributes }) => ({ loading: 'lazy', ...attributes }),
};`;

const UNPIC_LOADER = `// <Image transformer={transformer} src={family} width={640} height={480} /> of @unpic/react/base, /vue/base, …
export const transformer = (src, { width = 1080 }) => {
  return \`\${src}/\${Math.min(Number(width), 3840)}@1.auto\`;
};`;

/** Image loaders for web frameworks. A loader adds the requested width to an address. */
export const LOADER_SAMPLES: readonly PageSample[] = [
  { label: 'next/image', language: 'js', code: NEXT_LOADER },
  { label: 'Nuxt Image', language: 'js', code: NUXT_LOADER },
  { label: 'Astro', language: 'js', code: ASTRO_LOADER },
  { label: 'unpic', language: 'js', code: UNPIC_LOADER },
];
