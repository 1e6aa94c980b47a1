import type { RenderRequest } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useEffect, useRef, useState } from '../html.ts';
import { ErrorBox, Progress } from '../parts/page.ts';
import { useObjectUrl } from '../parts/pictures.ts';

interface TemplatePreviewProps {
  /** The template and the row to draw; undefined if there is nothing to draw yet. */
  request: RenderRequest | undefined;
  /** The alternative text of the picture. */
  label: string;
}

const PREVIEW_DEBOUNCE_MS = 600;

/**
 * Shows a template drawn with a row of data. It is drawn again shortly after the last change; until then, the previous
 * picture stays visible.
 */
export function TemplatePreview({ request, label }: TemplatePreviewProps) {
  const [state, setState] = useState<{
    blob?: Blob;
    warnings: readonly string[];
    error?: unknown;
    isDrawing: boolean;
  }>({ warnings: [], isDrawing: false });
  const isFirst = useRef(true);
  const written = JSON.stringify(request);
  useEffect(() => {
    if (request === undefined) return;
    const abortController = new AbortController();
    const draw = async () => {
      setState((last) => ({ ...last, isDrawing: true }));
      try {
        const picture = await api.images.render(request, { signal: abortController.signal });
        const blob = await picture.blob();
        const warnings = picture.warnings.map(({ code, name }) =>
          name === undefined ? code : `${code}: ${name}`,
        );
        setState({ blob, warnings, isDrawing: false });
      } catch (error) {
        if (!abortController.signal.aborted) setState((last) => ({ ...last, error, isDrawing: false }));
      }
    };
    const timer = setTimeout(draw, isFirst.current ? 0 : PREVIEW_DEBOUNCE_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abortController.abort();
    };
  }, [written]);
  const url = useObjectUrl(state.blob);
  const { width = 1_200, height = 630 } = request ?? {};
  return html`<div class="preview">
    <div class="preview-picture" style=${{ aspectRatio: `${width} / ${height}` }}>
      ${url !== undefined && html`<img src=${url} alt=${label} />`}
    </div>
    <div class="preview-state">${state.isDrawing && html`<${Progress} label="The picture is being drawn" />`}</div>
    <${ErrorBox} error=${state.error} />
    ${
      state.warnings.length > 0 &&
      html`<ul class="warnings" aria-label="Warnings">
      ${state.warnings.map((warning) => html`<li key=${warning} class="quiet"><code>${warning}</code></li>`)}
    </ul>`
    }
  </div>`;
}
