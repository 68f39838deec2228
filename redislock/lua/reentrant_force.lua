-- Frees the lock of any owner, and publishes a message.
-- KEYS[1] the lock. ARGV[1] the channel, empty for none. ARGV[2] the message.
-- Returns 1, or 0 if the lock was free.
if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
if ARGV[1] ~= '' then
  redis.call('PUBLISH', ARGV[1], ARGV[2])
end
return 1
