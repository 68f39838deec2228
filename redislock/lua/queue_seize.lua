-- Takes a free lock ahead of any waiters, with token 0, for a caller that never queues.
-- ARGV[2] the lease in milliseconds. Returns 1, or 0 if another owner has the lock.
local holder = owner()
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1] .. ' 0', 'PX', ARGV[2])
return 1
