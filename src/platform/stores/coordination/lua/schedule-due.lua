-- Schedules members of a due set. The earlier of two instants counts; for a member that is claimed the instant is
-- kept until its claim is settled.
--
-- KEYS 1 due set: members scored by the instant    ARGV 1 life of the keys, ms
--        they may be claimed, ms                        2 member   3 ms from now, and so on in pairs
--      2 claims: holder by member
--      3 scheduled while claimed: instant by member
-- Answer: the number of members

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV, 2 do
  local member, due = ARGV[i], now + tonumber(ARGV[i + 1])
  if redis.call('HEXISTS', KEYS[2], member) == 1 then
    local scheduled = tonumber(redis.call('HGET', KEYS[3], member))
    if not scheduled or due < scheduled then redis.call('HSET', KEYS[3], member, due) end
  else
    redis.call('ZADD', KEYS[1], 'LT', due, member)
  end
end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return (#ARGV - 1) / 2
