-- Dismisses the caller, or removes it from the queue, and admits the waiters that fit then.
-- ARGV[2] the grant timeout in milliseconds.
-- Returns, followed by the notifications for the calling process:
--    2  the caller held the lock, and waiters were admitted
--    1  the caller held the lock
--    3  the caller was in the queue, and waiters were admitted
--    0  the caller was in the queue
--   -1  neither: the caller's time was over, or the request is a repetition
here = mailbox(ARGV[1])
reap()
local absent = redis.call('ZREM', KEYS[2], ARGV[1]) == 0 -- first: it fails if the key has another type
local held = dismiss(ARGV[1])
local _, others = serve(tonumber(ARGV[2]))
if held then
  return reply(others and 2 or 1)
end
return reply(absent and -1 or others and 3 or 0)
