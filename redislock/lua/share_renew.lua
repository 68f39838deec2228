-- Gives the holder a whole lease again. ARGV[2] the lease in milliseconds. ARGV[3] the tokens,
-- which are not named as a key: they live on as well, unless they are on another node than the
-- lock while the slot migrates. Returns 1, or 0 if the asking one does not hold the lock.
if not holds(ARGV[1]) then
  return 0
end
prolong(ARGV[1], ARGV[2])
pcall(keep, ARGV[3], 86400000)
return 1
