-- Ends a lease of this owner.
--
-- KEYS 1 lease   ARGV 1 owner
-- Answer: 1 when it was held, else 0

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
