import type { OpDefinition } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The ops with their parameters, bounds and prices, as data. No key is needed. */
export class Catalogue extends CallGroup {
  async list(options?: CallOptions): Promise<OpDefinition[]> {
    return (await this.send('GET /ops', {}, options)) as OpDefinition[];
  }

  readonly get = this.methodWithId('GET /ops/{op}');
}

/** The saved presets: lists of steps with versions, which are run by name. */
export class Presets extends CallGroup {
  /** Lists the presets, the built-in ones first. */
  readonly list = this.methodWithQuery('GET /presets');
  /** Reads a preset by its slug or its id, optionally with @version. */
  readonly get = this.methodWithId('GET /presets/{slug}');
  readonly create = this.methodWithBody('POST /presets');
  /** Changes a preset. Fields that are left out keep their values. */
  readonly update = this.methodWithIdAndBody('PUT /presets/{slug}');
  readonly delete = this.methodWithId('DELETE /presets/{slug}');
}

/** The templates: HTML and CSS with placeholders, which are drawn as pictures. */
export class Templates extends CallGroup {
  /** Lists the templates, the built-in ones first. */
  readonly list = this.listMethodWithQuery('GET /templates');
  /** Reads a template by its id or its slug, optionally with @version. */
  readonly get = this.methodWithId('GET /templates/{templateId}');
  /** Lists every version, newest first. */
  readonly versions = this.methodWithId('GET /templates/{templateId}/versions');
  readonly create = this.methodWithBody('POST /templates');
  /** Changes a template. Fields that are left out keep their values. */
  readonly update = this.methodWithIdAndBody('PUT /templates/{templateId}');
  readonly delete = this.methodWithId('DELETE /templates/{templateId}');
}
