import { createHmac } from 'node:crypto';
import sharp from 'sharp';
import type { Test } from 'tap';
import {
  type Answer,
  type ServerOptions,
  startServer,
  type TestAccount,
  type TestServer,
} from '../../support/harness.ts';

/** Left half red, right half blue, 400 × 200. */
export async function twoHalves(): Promise<Uint8Array<ArrayBuffer>> {
  const half = { width: 200, height: 200, channels: 3 } as const;
  const blue = await sharp({ create: { ...half, background: '#0000ff' } })
    .png()
    .toBuffer();
  const both = sharp({ create: { ...half, width: 400, background: '#ff0000' } });
  return new Uint8Array(
    await both
      .composite([{ input: blue, left: 200, top: 0 }])
      .png()
      .toBuffer(),
  );
}

export interface SigningKey {
  id: string;
  secret: string;
}

export interface Delivering {
  server: TestServer;
  account: TestAccount;
  key: SigningKey;
  assetId: string;
  /** The path and query of a one-off address, signed as documented. */
  address(path: string, exp?: number): string;
  /** The same of a family. */
  rung(family: { what: string; extension: string; width: string; exp?: number }): string;
  /** GET of the server's root, or HEAD. */
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>;
  /** How many runs the account has used. */
  runs(): Promise<number>;
}

/** A server with an account that has a signing key and one asset. */
export async function openDelivering(t: Test, options: ServerOptions = {}): Promise<Delivering> {
  const server = await startServer(t, options);
  const account = await server.account();
  const { json } = await server.call('/signing-keys', { key: account.key, json: { name: 'Shop' } });
  const key: SigningKey = json.data;
  const body = new FormData();
  body.set('file', new Blob([await twoHalves()], { type: 'image/png' }), 'two halves.png');
  const uploaded = await server.call('/assets/upload', { method: 'POST', key: account.key, body });
  const assetId: string = uploaded.json.data.id;
  return {
    ...{ server, account, key, assetId },
    address: (path, exp) => signed(key, path, path, exp),
    rung: ({ what, extension, width, exp }) =>
      signed(key, `${what}/${assetId}/*.${extension}`, `${what}/${assetId}/${width}.${extension}`, exp),
    get: (path, headers = {}, method = 'GET') => server.call(`/${path}`, { method, headers }),
    runs: async () => (await server.call('/account', { key: account.key })).json.data.processing.used,
  };
}

/** Signs as a caller does, by the words of the documentation. */
export function signed({ id, secret }: SigningKey, message: string, path: string, exp?: number): string {
  const end = exp === undefined ? '' : `?exp=${exp}`;
  const signature = createHmac('sha256', secret).update(`${message}${end}`).digest('base64url').slice(0, 32);
  return `/d/${id}/${signature}/${path}${end}`;
}
