-- Extends a slot that is still held.
--
-- KEYS 1 slot set   ARGV 1 holder   2 lease, ms
-- Answer: 1 when extended, 0 when the slot expired or was given back

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local leasedUntil = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not leasedUntil or tonumber(leasedUntil) <= now then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIREAT', KEYS[1], redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
return 1
