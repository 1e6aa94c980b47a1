import type { StaticFiles } from '../../platform/http/static/files.ts';
import { ENTRY_MODULE, ICON_FILE, STYLE_SHEET } from './files.ts';

/**
 * The document of a console address. It names the files, and the entry module draws the rest.
 * @param screen the module of the screen at the address; undefined if no screen has the address.
 */
export function consoleDocument(files: StaticFiles, screen: string | undefined): string {
  // Named at once, the files are loaded side by side and not one after the other.
  const addresses = [ENTRY_MODULE, ...(screen === undefined ? [] : [screen])].flatMap((name) =>
    files.addressesFor(name),
  );
  const modules = [...new Set(addresses)].map((address) => `<link rel="modulepreload" href="${address}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Darkroom console</title>
<link rel="icon" type="image/svg+xml" href="${files.addressFor(ICON_FILE)}">
<link rel="stylesheet" href="${files.addressFor(STYLE_SHEET)}">
${modules.join('\n')}
<script type="module" src="${files.addressFor(ENTRY_MODULE)}"></script>
</head>
<body class="console">
<noscript>The console needs scripts. The documentation at <a href="/docs/">/docs</a> works without them.</noscript>
</body>
</html>
`;
}
