/**
 * The content policy of console pages: files and calls of this service only, no inline script or style, no frames, and
 * no text that becomes HTML or script.
 */
export const CONSOLE_CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Results are shown from memory.
  "img-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');
