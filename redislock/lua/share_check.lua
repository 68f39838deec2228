-- Admits waiters in place of holders whose time has run out. ARGV[2] the grant
-- timeout in milliseconds.
-- Returns 2 if it did, 1 if the lock is free without waiters, 0 if it is held.
reap()
local _, others = serve(tonumber(ARGV[2]))
if others then
  return 2
end
return redis.call('EXISTS', KEYS[1]) == 0 and 1 or 0
