-- Dismisses the asking holder, or takes the asking waiter out of the queue, and
-- admits those that fit now. ARGV[2] the grant timeout in milliseconds.
-- Returns 2 if it held the lock and others were admitted, 1 if it held it, 0 if
-- it did not, 3 if others were admitted then; -1 if it was not in the queue either: its
-- time was over, or this is a repetition. Notifications to the same process follow.
here = mailbox(ARGV[1])
reap()
local held = dismiss(ARGV[1])
local absent = redis.call('ZREM', KEYS[2], ARGV[1]) == 0
local _, others = serve(tonumber(ARGV[2]))
if held then
  return reply(others and 2 or 1)
end
return reply(absent and -1 or others and 3 or 0)
