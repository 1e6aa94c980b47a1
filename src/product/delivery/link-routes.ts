import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { SignedLinks } from './links.ts';
import { type DeliveryLink, DeliveryLinks, NewDeliveryLinks } from './schema.ts';

/** Serves POST /delivery-links, which makes addresses for callers that cannot sign them. */
export async function linkRoutes(
  app: FastifyInstance,
  { links, gate }: { links: SignedLinks; gate: CallGate },
): Promise<void> {
  app.post<{ Body: NewDeliveryLinks }>(
    '/delivery-links',
    {
      config: {
        idempotency: 'unkept',
        recheck: (request, { body }) =>
          links.check(gate.requireCaller(request).accountId, body as NewDeliveryLinks),
      },
      schema: {
        summary: 'Sign addresses of pictures',
        description:
          'Answers an address for an `<img>`, with `widths` a family with its srcset. Signed by the newest signing key of the account; one is made if there is none. Nothing is made or counted until the picture is asked for.',
        body: NewDeliveryLinks,
        response: { 200: envelopeSchemaOf(DeliveryLinks) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { links: sent, ...single } = request.body;
      const [extra] = Object.keys(single);
      if (sent !== undefined && extra !== undefined)
        throw invalidParamError(extra, `${extra} may not accompany links: move it into a link.`);
      const key = await links.signingKey(accountId);
      if (sent === undefined) return successEnvelope('Address signed.', await links.link(key, single, ''));
      const made: DeliveryLink[] = [];
      // Links are made one by one, so that links with the same steps share the preset of the first.
      for (const [index, link] of sent.entries()) made.push(await links.link(key, link, `links[${index}].`));
      return successEnvelope('Addresses signed.', { links: made });
    },
  );
}
