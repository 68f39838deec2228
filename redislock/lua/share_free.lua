-- Dismisses the asking holder, and admits nobody. Returns 1, or 0 if it did not hold the
-- lock.
return holds(ARGV[1]) and redis.call('ZREM', KEYS[1], ARGV[1]) or 0
