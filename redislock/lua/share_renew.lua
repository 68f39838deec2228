-- Restarts the holder's lease. ARGV[2] the lease in milliseconds. ARGV[3] the key of the
-- tokens, which is not in KEYS: its time to live is extended as well, unless it is on another
-- node than the lock while the slot migrates.
-- Returns 1, or 0 if the caller does not hold the lock.
if not holds(ARGV[1]) then
  return 0
end
prolong(ARGV[1], ARGV[2])
pcall(keep, ARGV[3], math.max(ARGV[2], 86400000))
return 1
