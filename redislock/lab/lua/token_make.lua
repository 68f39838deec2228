-- Makes a lock of the kind redis-token, unless it is there.
-- KEYS[1] the list with the element. KEYS[2] a mark that stays.
if redis.call('SETNX', KEYS[2], '1') == 1 then
  redis.call('RPUSH', KEYS[1], '1')
end
return 1
