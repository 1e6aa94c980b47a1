import type { FastifyReply } from 'fastify';
import { successEnvelope } from './envelope.ts';

/**
 * Sends 201 with the created object.
 * @param path the path below /api/v1 of the object, or of the list that contains it; its segments are encoded.
 * @param message a short text for a person.
 */
export function sendCreated(reply: FastifyReply, path: string, message: string, data: unknown): FastifyReply {
  return reply.code(201).header('location', `/api/v1${path}`).send(successEnvelope(message, data));
}
