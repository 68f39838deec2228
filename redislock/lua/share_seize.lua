-- Admits the caller, which never queues, if it fits. It passes any waiters and gets no token.
-- ARGV[2] the lease in milliseconds. Returns 1, or 0 if it does not fit.
for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp)) do
  redis.call('ZREM', KEYS[1], waiter) -- its token stays for a day
end
if not holds(ARGV[1]) and not fits(ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2] * 1000), ARGV[1])
keep(KEYS[1], ARGV[2])
return 1
