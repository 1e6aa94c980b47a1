import type { FastifyReply } from 'fastify';
import { success } from './envelope.ts';

/**
 * Answers 201 with what was created.
 * @param path the path below /api/v1 of what was created, or of the list that shows it; its segments are encoded.
 * @param message a short text for a person.
 */
export function sendCreated(reply: FastifyReply, path: string, message: string, data: unknown): FastifyReply {
  return reply.code(201).header('location', `/api/v1${path}`).send(success(message, data));
}
