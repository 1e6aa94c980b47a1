-- Gives one place back. A place that is not held changes nothing.
--
-- KEYS 1 place set   ARGV 1 holder
-- Answer: 1 when the place was held, else 0

return redis.call('ZREM', KEYS[1], ARGV[1])
