-- Takes one count back from a window of failures; its end stays where it is.
--
-- KEYS 1 window
-- Answer: 1 when one was taken back, 0 when there is none

if tonumber(redis.call('GET', KEYS[1]) or 0) <= 0 then return 0 end
redis.call('DECR', KEYS[1])
return 1
