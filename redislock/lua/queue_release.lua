-- Takes the lock away from the asking waiter and gives it to the next, or takes
-- the waiter out of the queue. A lock whose owner's time has run out is handed on
-- as well. ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if the next has the lock, 1 if it is free now; if the waiter did not
-- own it, 3 if it was handed on, else 0; -1 if it was not in the queue either: its
-- time was over, or this is a repetition. Notifications to the same process follow.
here = mailbox(ARGV[1])
local holder = owner()
if holder == ARGV[1] then
  return reply(grant(tonumber(ARGV[2])) and 2 or 1)
end
local absent = redis.call('ZREM', KEYS[2], ARGV[1]) == 0
local handed = not holder and grant(tonumber(ARGV[2]))
return reply(absent and -1 or handed and 3 or 0)
