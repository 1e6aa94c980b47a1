-- Takes a lease, or extends it for the owner it has.
--
-- KEYS 1 lease   ARGV 1 owner   2 lease, ms
-- Answer: 1 when held by this owner, else 0

local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
