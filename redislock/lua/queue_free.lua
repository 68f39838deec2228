-- Frees the lock of the caller without a grant to a waiter. Returns 1, or 0 if the caller
-- did not own the lock.
return owner() == ARGV[1] and redis.call('DEL', KEYS[1]) or 0
