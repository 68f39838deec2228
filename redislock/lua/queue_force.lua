-- Takes the lock from any owner and grants it to the first waiter.
-- ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if a waiter has the lock now, 1 if it is free now, 0 if it was free
-- without waiters.
local holder = owner()
if grant(tonumber(ARGV[2])) then
  return 2
end
return holder and 1 or 0
