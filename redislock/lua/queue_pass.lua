-- The process that watched a hand-over goes away: from now on the first waiter does.
-- Gives it the lock if the owner's time has run out. ARGV[2] the grant timeout in
-- milliseconds.
if not owner() then
  grant(tonumber(ARGV[2]))
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if first then
  post(first, '0', math.max(redis.call('PTTL', KEYS[1]), 0))
end
return 1
