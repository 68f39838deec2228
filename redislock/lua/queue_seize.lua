-- Takes the lock if it is free, with or without waiters, and without a token (0), for one
-- that never waits in the queue.
-- ARGV[2] the lease in milliseconds. Returns 1, or 0 if another has the lock.
local holder = owner()
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1] .. ' 0', 'PX', ARGV[2])
return 1
