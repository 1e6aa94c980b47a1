-- Claims the members that are due, the longest due first. A member whose claim expired is claimed again. When the
-- answer is lost with the connection, its members are due again at the end of their lease.
--
-- KEYS 1 due set   2 claims   3 scheduled while claimed (see schedule-due.lua)
-- ARGV 1 most members   2 lease, ms   3 holder   4 life of the keys, ms
-- Answer: {ms until the next member is due (-1 when there is none), member, member, …}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(members) do
  redis.call('ZADD', KEYS[1], now + ARGV[2], member)
  redis.call('HSET', KEYS[2], member, ARGV[3])
  redis.call('HDEL', KEYS[3], member)
end
if #members > 0 then
  for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
table.insert(members, 1, first and math.max(first - now, 0) or -1)
return members
