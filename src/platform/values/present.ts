/**
 * The type of an object without its null and undefined fields. A field that may be null or undefined becomes optional.
 */
type WithoutAbsent<T> = {
  [K in keyof T as null extends T[K] ? never : undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as null extends T[K] ? K : undefined extends T[K] ? K : never]?: NonNullable<T[K]>;
};

/** Leaves out the fields of an object that are null or undefined. */
export function withoutAbsentFields<T extends object>(fields: T): WithoutAbsent<T> {
  const kept = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as WithoutAbsent<T>;
}
