import { newId } from '../../platform/ids/ids.ts';
import { slugFromName } from '../../platform/ids/slugs.ts';
import {
  NAMED_DOCUMENT_INDEXES,
  type NamedDocument,
  NamedDocuments,
  type ResourceKind,
} from '../../platform/named-documents.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { tooManyTemplateVersionsError } from './errors.ts';
import type { TemplateContent } from './schema.ts';
import {
  currentTemplateVersion,
  type StoredTemplateSummary,
  TEMPLATE_SUMMARY_FIELDS,
  type Template,
  type TemplateVersion,
} from './template.ts';

export const MAX_TEMPLATES_PER_ACCOUNT = 200;
/** The most versions of a template. All of them are stored until the template is deleted. */
export const MAX_TEMPLATE_VERSIONS = 200;

export const TEMPLATE_KIND: ResourceKind = {
  noun: 'template',
  limit: MAX_TEMPLATES_PER_ACCOUNT,
  guard: 'version',
};

type TemplateDocument = Template & NamedDocument;

interface TemplateVersionDocument extends TemplateVersion {
  accountId: string;
}

/** A template that is about to be stored. Without a slug, one is derived from its name. */
export interface TemplateDraft {
  content: TemplateContent;
  slug?: string | undefined;
}

/** Where a page of the list starts: after the last row of the previous page, or after a number of rows. */
export type TemplateListStart = { after: { updatedAt: string; id: string } } | { skip: number };

export const TEMPLATES_COLLECTION: DeclaredCollection = {
  name: 'templates',
  indexes: NAMED_DOCUMENT_INDEXES,
  onAccountDeletion: 'delete',
};
export const TEMPLATE_VERSIONS_COLLECTION: DeclaredCollection = {
  name: 'templateVersions',
  indexes: [{ name: 'template', fields: sortBy('accountId', 'templateId', '-version') }],
  onAccountDeletion: 'delete',
};

/** The store of templates. Each method takes the account first and returns only its templates. */
export class TemplatesStore {
  readonly #templates: DocumentCollection<TemplateDocument>;
  readonly #named: NamedDocuments<TemplateDocument>;
  readonly #versions: DocumentCollection<TemplateVersionDocument>;

  constructor(documents: DocumentStore) {
    this.#templates = documents.collection(TEMPLATES_COLLECTION);
    this.#named = new NamedDocuments(this.#templates, TEMPLATE_KIND);
    this.#versions = documents.collection(TEMPLATE_VERSIONS_COLLECTION);
  }

  find(accountId: string, idOrSlug: string): Promise<Template | null> {
    return this.#named.find(accountId, idOrSlug);
  }

  /** Stores one draft. The errors are those of `insert`. */
  async insertOne(accountId: string, draft: TemplateDraft, now: Date): Promise<Template> {
    const [template] = await this.insert(accountId, [draft], now);
    return template as Template;
  }

  /**
   * Stores the drafts in order, each as version 1. If one of them is refused, none is stored; only a crash may leave
   * some of them stored.
   * @throws ApiError resource_limit_exceeded; invalid_param on slug when a sent slug is taken.
   */
  async insert(accountId: string, drafts: readonly TemplateDraft[], now: Date): Promise<Template[]> {
    const createdAt = now.toISOString();
    const named = drafts.map(({ content, slug }) => ({
      document: { _id: newId('tpl', now.getTime()), version: 1, createdAt, updatedAt: createdAt, ...content },
      slug: slug ?? slugFromName(content.name, 'template'),
      takesSuffix: slug === undefined,
    }));
    return this.#named.insert(accountId, named);
  }

  /**
   * Changes a template. `revise` gets the current version, and returns the next one. It is called again when another
   * write was faster. The result is null when there is no such template.
   *
   * The current version is first stored under its own key. Then the document is updated, on the condition that it still
   * has that version. If the process crashes in between, a copy of the current version remains. The next PUT reuses it,
   * and it is never listed as an earlier version.
   * @throws ApiError invalid_param on slug when another template has it; resource_limit_exceeded; any error of
   * `revise`.
   */
  async update(
    accountId: string,
    idOrSlug: string,
    revise: (current: Template) => TemplateContent & { slug: string },
    now: Date,
  ): Promise<Template | null> {
    return this.#named.update(accountId, idOrSlug, async (current) => {
      const { slug, name, description, html, css, width, height, variables } = revise(current);
      if (current.version >= MAX_TEMPLATE_VERSIONS) throw tooManyTemplateVersionsError(MAX_TEMPLATE_VERSIONS);
      await this.#versions.insertMany([{ accountId, ...currentTemplateVersion(current) }]);
      const fields = { slug, name, description, html, css, width, height, variables };
      return { ...fields, version: current.version + 1, updatedAt: now.toISOString() };
    });
  }

  /**
   * Deletes a template with all its versions. Returns false when there is no such template. The template itself is
   * deleted first: if a crash leaves versions behind, nobody can reach them.
   */
  async remove(accountId: string, idOrSlug: string): Promise<boolean> {
    const template = await this.find(accountId, idOrSlug);
    if (template === null) return false;
    const deleted = await this.#templates.deleteOne({ _id: template._id, accountId });
    await this.#versions.deleteMany({ accountId, templateId: template._id });
    return deleted === 1;
  }

  /** One earlier version of a template; null if it is not stored. */
  findVersion(accountId: string, templateId: string, version: number): Promise<TemplateVersion | null> {
    return this.#versions.findOne({ accountId, templateId, version });
  }

  /** At most `limit` versions of a template that are older than `version`, newest first. */
  async findVersionsBelow(
    accountId: string,
    templateId: string,
    version: number,
    limit: number,
  ): Promise<TemplateVersion[]> {
    const filter = { accountId, templateId, version: { $lt: version } };
    return this.#versions.find(filter, { sort: sortBy('-version'), limit });
  }

  /** Rows of the listing, most recently updated first. */
  async list(accountId: string, from: TemplateListStart, limit: number): Promise<StoredTemplateSummary[]> {
    const options = { sort: sortBy('-updatedAt', '-_id'), limit, fields: TEMPLATE_SUMMARY_FIELDS };
    if ('skip' in from) return this.#templates.find({ accountId }, { ...options, skip: from.skip });
    const { updatedAt, id } = from.after;
    const after = { $or: [{ updatedAt: { $lt: updatedAt } }, { updatedAt, _id: { $lt: id } }] };
    return this.#templates.find({ $and: [{ accountId }, after] }, options);
  }

  /** The slugs of at most 200 of the account's templates. */
  listSlugs(accountId: string): Promise<string[]> {
    return this.#named.slugs(accountId);
  }

  async count(accountId: string): Promise<number> {
    return this.#templates.count({ accountId });
  }
}
