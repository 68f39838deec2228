-- Creates a lock of redis-token if it does not exist.
-- KEYS[1] the list with the element. KEYS[2] a permanent mark.
if redis.call('SETNX', KEYS[2], '1') == 1 then
  redis.call('RPUSH', KEYS[1], '1')
end
return 1
