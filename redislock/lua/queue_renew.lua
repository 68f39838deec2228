-- Restarts the owner's lease. ARGV[2] the lease in milliseconds.
-- Returns 1, or 0 if the caller does not own the lock.
if owner() ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
