-- Passes the check of a handover from a process that exits to the first waiter. Grants the
-- lock to that waiter if the owner's time has run out.
-- ARGV[2] the grant timeout in milliseconds.
if not owner() then
  grant(tonumber(ARGV[2]))
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if first then
  post(first, '0', math.max(redis.call('PTTL', KEYS[1]), 0))
end
return 1
