-- Admits one request: block, mark, rate window, slot, in one step. What is refused early is not counted later.
-- A question that is not asked has the limit -1 (the mark: 0), and its key is not looked at.
--
-- KEYS 1 window of failures that may block   ARGV 1 failures that block
--      2 mark                                     2 1 to ask
--      3 rate window                              3 requests allowed
--                                                 4 length of the rate window, ms
--      4 slot set: holders scored by the          5 places
--        instant their lease ends, ms             6 holder
--                                                 7 lease, ms
--      5… slot sets of places that come back      8… the holder of each
-- Answer: {blockedMs, marked, allowed (-1 when not asked or not reached), remaining, resetMs,
--          slot (taken or not asked)}, of yes and no as 1 and 0

for place = 5, #KEYS do
  redis.call('ZREM', KEYS[place], ARGV[place + 3])
end

local function left(key)
  return math.max(redis.call('PTTL', key), 1)
end

local blockedAt = tonumber(ARGV[1])
if blockedAt >= 0 and tonumber(redis.call('GET', KEYS[1]) or 0) >= blockedAt then
  return {left(KEYS[1]), 0, -1, 0, 0, 0}
end
if ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  return {0, 1, -1, 0, 0, 0}
end

local allowed, remaining, resetMs = -1, 0, 0
local limit = tonumber(ARGV[3])
if limit >= 0 then
  if tonumber(redis.call('GET', KEYS[3]) or 0) >= limit then
    return {0, 0, 0, 0, left(KEYS[3]), 0}
  end
  local count = redis.call('INCR', KEYS[3])
  if count == 1 then redis.call('PEXPIRE', KEYS[3], ARGV[4]) end
  allowed, remaining, resetMs = 1, limit - count, left(KEYS[3])
end

local places = tonumber(ARGV[5])
if places < 0 then return {0, 0, allowed, remaining, resetMs, 1} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
-- A holder that asks again (its first answer was lost with the connection) keeps its place.
if not redis.call('ZSCORE', KEYS[4], ARGV[6]) and redis.call('ZCARD', KEYS[4]) >= places then
  return {0, 0, allowed, remaining, resetMs, 0}
end
redis.call('ZADD', KEYS[4], now + ARGV[7], ARGV[6])
redis.call('PEXPIREAT', KEYS[4], redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2])
return {0, 0, allowed, remaining, resetMs, 1}
