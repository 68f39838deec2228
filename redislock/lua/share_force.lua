-- Dismisses all holders, and admits the first waiters. ARGV[2] the grant timeout in
-- milliseconds.
-- Returns 2 if waiters were admitted, 1 if the lock is free now, 0 if it was free
-- without waiters.
local held = redis.call('DEL', KEYS[1]) == 1
redis.call('DEL', KEYS[5])
local _, others = serve(tonumber(ARGV[2]))
if others then
  return 2
end
return held and 1 or 0
