-- Frees the lock, whichever owner has it, and tells those that listen.
-- KEYS[1] the lock. ARGV[1] the channel. ARGV[2] the message.
-- Returns 1, or 0 if the lock was free.
if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
