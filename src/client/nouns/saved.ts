import type { Pages } from '../answers.ts';
import { type BodyOf, type DataOf, listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { PresetData, TemplateData, TemplateSummary } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The saved presets: lists of steps with versions, which are run by name. */
export class Presets extends CallGroup {
  /** Lists the presets, the built-in ones first. */
  list(query: QueryOf<'GET /presets'> = {}, options?: CallOptions): Promise<PresetData[]> {
    return readNamedCall(this.transport, 'GET /presets', { query }, options);
  }

  /**
   * @param slug the slug or the id of the preset, optionally with @version.
   */
  get(slug: string, options?: CallOptions): Promise<PresetData> {
    return readNamedCall(this.transport, 'GET /presets/{slug}', { path: { slug } }, options);
  }

  create(preset: BodyOf<'POST /presets'>, options?: CallOptions): Promise<PresetData> {
    return readNamedCall(this.transport, 'POST /presets', { body: preset }, options);
  }

  /** Changes a preset. Fields that are left out keep their values. */
  update(slug: string, change: BodyOf<'PUT /presets/{slug}'>, options?: CallOptions): Promise<PresetData> {
    return readNamedCall(this.transport, 'PUT /presets/{slug}', { path: { slug }, body: change }, options);
  }

  async delete(slug: string, options?: CallOptions): Promise<void> {
    await readNamedCall(this.transport, 'DELETE /presets/{slug}', { path: { slug } }, options);
  }
}

/** The templates: HTML and CSS with placeholders, which are drawn as pictures. */
export class Templates extends CallGroup {
  /** Lists the templates, the built-in ones first. */
  list(query: QueryOf<'GET /templates'> = {}, options?: CallOptions): Pages<TemplateSummary> {
    return listNamedCall(this.transport, 'GET /templates', { query }, options);
  }

  /**
   * @param templateId the id or the slug of the template, optionally with @version.
   */
  get(templateId: string, options?: CallOptions): Promise<TemplateData> {
    return readNamedCall(this.transport, 'GET /templates/{templateId}', { path: { templateId } }, options);
  }

  /** Lists every version, newest first. */
  versions(
    templateId: string,
    options?: CallOptions,
  ): Promise<DataOf<'GET /templates/{templateId}/versions'>> {
    const name = 'GET /templates/{templateId}/versions';
    return readNamedCall(this.transport, name, { path: { templateId } }, options);
  }

  create(template: BodyOf<'POST /templates'>, options?: CallOptions): Promise<TemplateData> {
    return readNamedCall(this.transport, 'POST /templates', { body: template }, options);
  }

  /** Changes a template. Fields that are left out keep their values. */
  update(
    templateId: string,
    change: BodyOf<'PUT /templates/{templateId}'>,
    options?: CallOptions,
  ): Promise<TemplateData> {
    const fields = { path: { templateId }, body: change };
    return readNamedCall(this.transport, 'PUT /templates/{templateId}', fields, options);
  }

  async delete(templateId: string, options?: CallOptions): Promise<void> {
    await readNamedCall(this.transport, 'DELETE /templates/{templateId}', { path: { templateId } }, options);
  }
}
