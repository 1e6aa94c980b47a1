-- Extends a claim, and takes it again when the set was lost or the claim has ended.
--
-- KEYS 1 due set   2 claims   3 scheduled while claimed (see schedule-due.lua)
-- ARGV 1 member   2 holder   3 lease, ms   4 life of the keys, ms
-- Answer: 1 when held by this holder, 0 when another holds the member

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder = redis.call('HGET', KEYS[2], ARGV[1])
if holder and holder ~= ARGV[2] then return 0 end
if not holder then
  -- It was scheduled since the loss: that instant waits until the claim is settled.
  local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if due then redis.call('HSET', KEYS[3], ARGV[1], due) end
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
return 1
