-- Admits one request: block, flag, rate window and slot, in one step. A request that one check refuses is not counted
-- by the later ones. A check that is not requested has the limit -1 (the flag: 0), and its key is not read.
--
-- KEYS 1 window of failures that may block   ARGV 1 failures that block
--      2 flag                                     2 1 to check it
--      3 rate window                              3 requests allowed
--                                                 4 length of the rate window, ms
--                                                 5 requests to count ahead, at most a thousandth of those left
--      4 slot set: holders scored by the         6 slots
--        instant their lease ends, ms             7 holder
--                                                 8 lease, ms
--      5… slot sets of returned slots           9… the holder of each
-- Answer: {blockedMs, flagged, allowed (-1 when not requested or not reached), remaining, resetMs,
--          slot (taken or not requested), counted ahead}, with 1 for yes and 0 for no

for slot = 5, #KEYS do
  redis.call('ZREM', KEYS[slot], ARGV[slot + 4])
end

local function left(key)
  return math.max(redis.call('PTTL', key), 1)
end

local blockedAt = tonumber(ARGV[1])
if blockedAt >= 0 and tonumber(redis.call('GET', KEYS[1]) or 0) >= blockedAt then
  return {left(KEYS[1]), 0, -1, 0, 0, 0, 0}
end
if ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  return {0, 1, -1, 0, 0, 0, 0}
end

local allowed, remaining, resetMs, ahead = -1, 0, 0, 0
local limit = tonumber(ARGV[3])
if limit >= 0 then
  local requestsLeft = limit - tonumber(redis.call('GET', KEYS[3]) or 0)
  if requestsLeft <= 0 then
    return {0, 0, 0, 0, left(KEYS[3]), 0, 0}
  end
  ahead = math.min(tonumber(ARGV[5]), math.floor(requestsLeft / 1000))
  local count = redis.call('INCRBY', KEYS[3], 1 + ahead)
  if count == 1 + ahead then redis.call('PEXPIRE', KEYS[3], ARGV[4]) end
  allowed, remaining, resetMs = 1, limit - count, left(KEYS[3])
end

local slots = tonumber(ARGV[6])
if slots < 0 then return {0, 0, allowed, remaining, resetMs, 1, ahead} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
-- A holder that repeats its request (the first answer was lost with the connection) keeps its slot.
if not redis.call('ZSCORE', KEYS[4], ARGV[7]) and redis.call('ZCARD', KEYS[4]) >= slots then
  return {0, 0, allowed, remaining, resetMs, 0, ahead}
end
redis.call('ZADD', KEYS[4], now + ARGV[8], ARGV[7])
redis.call('PEXPIREAT', KEYS[4], redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2])
return {0, 0, allowed, remaining, resetMs, 1, ahead}
