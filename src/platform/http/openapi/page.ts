import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui';

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1b1b1f"/><circle cx="16" cy="16" r="8" fill="none" stroke="#e0533a" stroke-width="4"/></svg>`;

const STYLE = `
.swagger-ui .info { margin: 24px 0 }
.swagger-ui .scheme-container { padding: 12px 0; box-shadow: none }
.swagger-ui .info .title small pre { color: inherit }
.swagger-ui .opblock-tag { flex-wrap: wrap }
.swagger-ui .opblock-tag small { flex: 1 1 100%; padding: 4px 0 0 }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 12px }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; word-break: break-all }
}
`;

/** The options of the page at /docs: own title, no logo, folded sections, unchanged keys. */
export const PAGE: Pick<FastifySwaggerUiOptions, 'theme' | 'logo' | 'uiConfig'> = {
  theme: {
    title: 'Darkroom API reference',
    favicon: [{ filename: 'favicon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: LOGO }],
    css: [{ filename: 'darkroom.css', content: STYLE }],
  },
  logo: { type: 'image/svg+xml', content: LOGO },
  uiConfig: {
    layout: 'BaseLayout',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    persistAuthorization: true,
    tryItOutEnabled: true,
    filter: true,
    requestInterceptor: withScheme,
  },
};

/**
 * This function runs in the browser. It adds the scheme `ApiKey` to a pasted key, and replaces the scheme of another
 * service.
 */
function withScheme(input: unknown): never {
  const request = input as { headers: Record<string, string> };
  const [, key] = /^(?:\w+ +)?(drk_\w+)$/.exec(String(request.headers.Authorization ?? '').trim()) ?? [];
  if (key) request.headers.Authorization = `ApiKey ${key}`;
  return request as never;
}
