-- Frees an idempotency key, so that a retry runs.
--
-- KEYS 1 record (see begin-idempotent)   ARGV 1 token
-- Answer: 1 when freed, 0 when the key expired or belongs to another request

if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
