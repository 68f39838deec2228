-- Takes the lock away from the asking owner, and gives it to nobody. Returns 1, or 0 if
-- it did not own the lock.
return owner() == ARGV[1] and redis.call('DEL', KEYS[1]) or 0
