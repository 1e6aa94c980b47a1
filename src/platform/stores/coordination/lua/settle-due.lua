-- Ends a claim. The member is due next at the earlier of two instants: the holder's, and one scheduled meanwhile. With
-- neither, it is removed. A claim of another holder stays, and the instant takes effect when that claim ends.
--
-- KEYS 1 due set   2 claims   3 scheduled while claimed (see schedule-due.lua)
-- ARGV 1 member   2 holder   3 ms from now, or -1 for none   4 life of the keys, ms
-- Answer: ms until the member is due next, or -1 when it is not, or another holds it

local member = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = tonumber(ARGV[3]) >= 0 and now + ARGV[3] or nil
local scheduled = tonumber(redis.call('HGET', KEYS[3], member))
local holder = redis.call('HGET', KEYS[2], member)
if holder and holder ~= ARGV[2] then
  if due and (not scheduled or due < scheduled) then redis.call('HSET', KEYS[3], member, due) end
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
  return -1
end
-- Without a claim the set was lost: an instant scheduled since then counts too.
local afterLoss = not holder and tonumber(redis.call('ZSCORE', KEYS[1], member)) or nil
for _, instant in pairs({scheduled or false, afterLoss or false}) do
  if instant and (not due or instant < due) then due = instant end
end
redis.call('HDEL', KEYS[2], member)
redis.call('HDEL', KEYS[3], member)
if not due then
  redis.call('ZREM', KEYS[1], member)
  return -1
end
redis.call('ZADD', KEYS[1], due, member)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return math.max(due - now, 0)
