-- Gives back the slots of every holder whose id begins with a prefix: those of a process that died.
--
-- KEYS 1 slot set   ARGV 1 prefix
-- Answer: slots given back

local released = 0
for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(holder, 1, #ARGV[1]) == ARGV[1] then
    released = released + redis.call('ZREM', KEYS[1], holder)
  end
end
return released
