-- Grants the lock to the first waiter if the owner's time has run out.
-- ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if it did, 1 if the lock is free without waiters, 0 if it is held.
if owner() then
  return 0
end
return grant(tonumber(ARGV[2])) and 2 or 1
