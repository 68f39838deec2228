-- Takes the lock away from the asking waiter and gives it to the next, or takes
-- the waiter out of the queue. ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if the next has the lock, 1 if it is free now, 0 if the waiter did
-- not own it.
if owner() == ARGV[1] then
  return grant(tonumber(ARGV[2])) and 2 or 1
end
local first = redis.call('ZRANK', KEYS[2], ARGV[1]) == 0
redis.call('ZREM', KEYS[2], ARGV[1])
if first then -- the second watches now
  tell(math.max(redis.call('PTTL', KEYS[1]), 0))
end
return 0
