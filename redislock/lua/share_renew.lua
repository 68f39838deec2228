-- Gives the holder a whole lease again. ARGV[2] the lease in milliseconds. Returns 1, or
-- 0 if the asking one does not hold the lock.
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return 0
end
prolong(ARGV[1], ARGV[2])
return 1
