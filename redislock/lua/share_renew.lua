-- Gives the holder a whole lease again. If it was the first whose time would have
-- run out it tells the first waiter, who watches for that. ARGV[2] the lease in
-- milliseconds. Returns 1, or 0 if the asking one does not hold the lock.
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return 0
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1] == ARGV[1]
prolong(ARGV[1], ARGV[2])
if first then
  tell()
end
return 1
