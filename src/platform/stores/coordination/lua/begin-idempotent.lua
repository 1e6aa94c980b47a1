-- Begins a request under an idempotency key, or returns the state of the one before.
--
-- KEYS 1 record: a hash of token, fingerprint, keptUntil (ms), answered (1 once it is), response (JSON, when kept)
-- ARGV 1 token of this request   2 fingerprint, empty for a body too large to have one
--      3 how long a request that never answers holds the key, ms   4 life of the record from its first request, ms
-- Answer: {'new'}, {'running'}, {'reused'} or {'replay', response}

local record = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'answered', 'response')
local token, fingerprint, answered, response = record[1], record[2], record[3], record[4]

if not token then
  local time = redis.call('TIME')
  local keptUntil = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[4]
  redis.call('HSET', KEYS[1], 'token', ARGV[1], 'fingerprint', ARGV[2], 'keptUntil', string.format('%d', keptUntil))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'new'}
end
-- The same call, sent again because its first answer was lost with the connection.
if token == ARGV[1] then return {'new'} end
if fingerprint ~= ARGV[2] then return {'reused'} end
if not answered then return {'running'} end
if fingerprint == '' or not response then return {'reused'} end
return {'replay', response}
