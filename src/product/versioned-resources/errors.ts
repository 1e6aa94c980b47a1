import { ApiError, invalidParam } from '../../platform/http/errors/errors.ts';

/** A kind of named documents. */
export interface ResourceKind {
  noun: 'preset' | 'template';
  /** The most of them that an account may have. */
  limit: number;
  /** The field that every save changes. A save counts only if the field still has the value that it began with. */
  guard: 'revision' | 'version';
}

/** 400: another document of the account has this slug. */
export function slugTaken({ noun }: ResourceKind, slug: string): ApiError {
  const message = `slug "${slug}" is already one of your ${noun}s': send another, or leave it out to have one made.`;
  return invalidParam('slug', message);
}

/** 422: the account would exceed its number of documents. */
export function tooMany({ noun, limit }: ResourceKind, left: number): ApiError {
  const message = `An account holds at most ${limit} ${noun}s and ${left} are left: delete some, or send fewer.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit, left } });
}

/** 422: an import has far more entries than an account can hold. None of them is checked. */
export function tooManyEntries(limit: number, received: number): ApiError {
  const message = `The import has ${received} entries, and at most ${limit} are read: nothing was imported, send fewer.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit, received } });
}

/** 500, retryable: concurrent writes to the same document were faster in every attempt. */
export function tooContended({ noun }: ResourceKind): ApiError {
  return new ApiError(
    'internal_error',
    `Too many calls changed the same ${noun} at once: repeat the same call.`,
    {
      details: { reason: 'contention' },
      retryAfterSeconds: 1,
    },
  );
}
