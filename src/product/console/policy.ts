/**
 * What a page of the console may load and do: files and calls of this service alone, no script or style within the
 * page, no frame around it, and no text that becomes HTML or script.
 */
export const CONTENT_POLICY = [
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
