import { type Static, Type } from '@sinclair/typebox';

export const ApiKey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  hint: Type.String({ description: 'The prefix and the last 4 characters.' }),
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Exact to a minute.' })),
});
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = Type.Composite([
  ApiKey,
  Type.Object({ key: Type.String({ description: 'Shown once.' }) }),
]);

export const NewApiKeyBody = Type.Object({ name: Type.Optional(Type.String({ maxLength: 100 })) });
export type NewApiKeyBody = Static<typeof NewApiKeyBody>;

export const SignInBody = Type.Object({
  email: Type.String({ maxLength: 320 }),
  password: Type.String({ maxLength: 1000 }),
});
export type SignInBody = Static<typeof SignInBody>;

export const KeyPath = Type.Object({ keyId: Type.String() });
export type KeyPath = Static<typeof KeyPath>;
