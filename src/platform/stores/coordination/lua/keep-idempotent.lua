-- Keeps the answer of a request for the rest of its key's life.
--
-- KEYS 1 record (see begin-idempotent)   ARGV 1 token   2 response as JSON, empty when it could not be kept
-- Answer: 1 when kept, 0 when the key expired or belongs to another request

if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'answered', 1)
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'response', ARGV[2]) end
redis.call('PEXPIREAT', KEYS[1], redis.call('HGET', KEYS[1], 'keptUntil'))
return 1
