-- Takes the asking waiter out of the queue, or the lock away from it and gives it
-- to the next. ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if the next has the lock, 1 if it is free now, 0 if the waiter did
-- not own it.
redis.call('ZREM', KEYS[2], ARGV[1])
if owner() ~= ARGV[1] then
  return 0
end
return grant(tonumber(ARGV[2])) and 2 or 1
