-- Takes one of the slots that owners share. The owner of a holder is the text after its last slash.
--
-- KEYS 1 slot set: holders scored by the instant        ARGV 1 slots
--        their lease ends, ms                                 2 holder
--      2 owners scored by their last request, ms              3 lease, ms
--      3 owners that were refused, scored by the instant      4 how long an owner is remembered, ms
--        from which they wait, ms                             5 how long a refused one counts as waiting, ms
-- Answer: 1 when the slot was taken, else 0

local slots, holder = tonumber(ARGV[1]), ARGV[2]
local seenMs, waitMs = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function ownerOf(name)
  return string.match(name, '[^/]*$')
end
local owner = ownerOf(holder)

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - seenMs)
local held, taken = {}, 0
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  held[ownerOf(name)] = (held[ownerOf(name)] or 0) + 1
  taken = taken + 1
end
local mine = held[owner] or 0
local since = tonumber(redis.call('ZSCORE', KEYS[3], owner) or now)

local seen = redis.call('ZCARD', KEYS[2])
if redis.call('ZSCORE', KEYS[2], owner) then seen = seen - 1 end
local share = seen > 0 and math.ceil(slots / 2) or math.max(1, slots - 1)
local mayTake = taken < slots and mine < share
local waiting = redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')
for at = 1, #waiting, 2 do
  local other, otherSince = waiting[at], tonumber(waiting[at + 1])
  local requestedMs = tonumber(redis.call('ZSCORE', KEYS[2], other) or 0)
  local others = held[other] or 0
  if requestedMs <= now - waitMs then
    redis.call('ZREM', KEYS[3], other)
  elseif other ~= owner and (others < mine or (others == mine and otherSince < since)) then
    mayTake = false
  end
end
-- A holder that repeats its request (the first answer was lost with the connection) keeps its slot.
if redis.call('ZSCORE', KEYS[1], holder) then mayTake = true end

redis.call('ZADD', KEYS[2], now, owner)
redis.call('PEXPIRE', KEYS[2], seenMs)
if not mayTake then
  redis.call('ZADD', KEYS[3], since, owner)
  redis.call('PEXPIRE', KEYS[3], waitMs)
  return 0
end
redis.call('ZREM', KEYS[3], owner)
redis.call('ZADD', KEYS[1], now + ARGV[3], holder)
redis.call('PEXPIREAT', KEYS[1], redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
return 1
