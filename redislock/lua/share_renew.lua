-- Gives the holder a whole lease again. ARGV[2] the lease in milliseconds. Returns 1, or
-- 0 if the asking one does not hold the lock.
if not holds(ARGV[1]) then
  return 0
end
prolong(ARGV[1], ARGV[2])
return 1
