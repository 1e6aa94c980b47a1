-- Makes all members due at once that are claimed by holders with a prefix (of a dead process).
--
-- KEYS 1 due set   2 claims   3 scheduled while claimed (see schedule-due.lua)
-- ARGV 1 prefix
-- Answer: the number of members

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local claims = redis.call('HGETALL', KEYS[2])
local released = 0
for i = 1, #claims, 2 do
  if string.sub(claims[i + 1], 1, #ARGV[1]) == ARGV[1] then
    redis.call('HDEL', KEYS[2], claims[i])
    redis.call('HDEL', KEYS[3], claims[i])
    redis.call('ZADD', KEYS[1], now, claims[i])
    released = released + 1
  end
end
return released
