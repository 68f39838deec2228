-- Returns the holders whose time is not over, each followed by its token.
local all = {}
for _, holder in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')) do
  all[#all + 1] = holder
  all[#all + 1] = redis.call('HGET', KEYS[5], holder) or '0'
end
return all
