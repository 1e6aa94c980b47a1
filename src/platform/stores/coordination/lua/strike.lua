-- Counts one failure in its window, which starts at the first.
--
-- KEYS 1 window   ARGV 1 length of the window, ms
-- Answer: {count after this one, ms until the window turns}

local count = redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, math.max(redis.call('PTTL', KEYS[1]), 1)}
