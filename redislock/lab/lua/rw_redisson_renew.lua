-- Gives all owners a whole lease again.
-- KEYS[1] the lock. ARGV[1] the owner that asks. ARGV[2] the lease in milliseconds.
-- Returns 1, or 0 if it is no owner.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
