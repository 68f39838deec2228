-- Releases the lock of the caller and grants it to the next waiter, or removes the caller
-- from the queue. If the time of another owner has run out, it grants the lock as well.
-- ARGV[2] the grant timeout in milliseconds.
-- Returns, followed by the notifications for the calling process:
--    2  the caller owned the lock, and the next waiter has it now
--    1  the caller owned the lock, and it is free now
--    3  the caller was in the queue, and the lock was granted to another waiter
--    0  the caller was in the queue
--   -1  neither: the caller's time was over, or the request is a repetition
here = mailbox(ARGV[1])
local holder = owner()
if holder == ARGV[1] then
  return reply(grant(tonumber(ARGV[2])) and 2 or 1)
end
local absent = redis.call('ZREM', KEYS[2], ARGV[1]) == 0
local handed = not holder and grant(tonumber(ARGV[2]))
return reply(absent and -1 or handed and 3 or 0)
