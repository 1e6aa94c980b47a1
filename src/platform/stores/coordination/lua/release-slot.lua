-- Gives one slot back. A slot that is not held changes nothing.
--
-- KEYS 1 slot set   ARGV 1 holder
-- Answer: 1 when the slot was held, else 0

return redis.call('ZREM', KEYS[1], ARGV[1])
