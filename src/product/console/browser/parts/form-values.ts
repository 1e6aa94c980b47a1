/** What a form holds, by the names of its fields; one without a value is left out. */
export type FormValues = Readonly<Record<string, unknown>>;
