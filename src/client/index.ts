export type { Answer, Warning } from './answers.ts';
export { type Page, Pages } from './answers.ts';
export type { ImageBytes, ImageInput, ImageReference, SecondPicture } from './bodies.ts';
export type { BodyOf, CallName, DataOf, QueryOf } from './calls.ts';
export { Darkroom } from './client.ts';
export * from './errors.ts';
export type {
  OpWork,
  Output,
  OutputsCallOptions,
  Step,
  TransformCallOptions,
  TransformWork,
} from './nouns/images.ts';
export type { WaitOptions } from './nouns/jobs.ts';
export { Outputs } from './outputs.ts';
export { Download, Picture } from './picture.ts';
export type { Clock } from './runtime.ts';
export { openFile } from './runtime.ts';
export type * from './schema.ts';
export type { CallOptions, ClientOptions, DebugEvent } from './transport.ts';
export { type ReceivedDelivery, verifyWebhook, WebhookVerificationError } from './webhook-signatures.ts';
