-- Dismisses the caller and admits no waiter. Returns 1, or 0 if the caller did not hold the
-- lock.
return holds(ARGV[1]) and redis.call('ZREM', KEYS[1], ARGV[1]) or 0
